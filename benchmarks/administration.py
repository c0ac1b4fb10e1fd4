"""What an administrator prepares through the API before a load: accounts, rights, custom resources."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

from benchmarks.options import Unusable
from benchmarks.process import ServerProcess
from benchmarks.watchers import trusting_tls

__all__ = ["Administrator"]

_NAMESPACE = "default"
_RBAC = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{_NAMESPACE}"
_ACCOUNTS = f"/api/v1/namespaces/{_NAMESPACE}/serviceaccounts"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

#: Until a new kind is served.
_ESTABLISH_S = 10.0


class Administrator:
    """One request at a time, with the admin's token; an answer that is not 2xx ends the benchmark."""

    def __init__(self, server: ServerProcess) -> None:
        self._url = server.url
        self._headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        self._tls = trusting_tls()

    def service_account(self, name: str, resources: Sequence[str], verbs: Sequence[str]) -> str:
        """The token of a new account that may do just that with core resources in the default namespace."""
        metadata = {"name": name}
        self._ask("POST", _ACCOUNTS, {"metadata": metadata})
        rule = {"apiGroups": [""], "resources": resources, "verbs": verbs}
        self._ask("POST", f"{_RBAC}/roles", {"metadata": metadata, "rules": [rule]})
        binding = {
            "metadata": metadata,
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": _NAMESPACE}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        }
        self._ask("POST", f"{_RBAC}/rolebindings", binding)
        answer = self._ask("POST", f"{_ACCOUNTS}/{name}/token", {"spec": {"expirationSeconds": 3600}})
        token: str = answer["status"]["token"]
        return token

    def define(self, definition: dict[str, Any]) -> None:
        """Make a CustomResourceDefinition; returns when its kind is served."""
        self._ask("POST", _CRDS, definition)
        path = f"{_CRDS}/{definition['metadata']['name']}"
        deadline = time.monotonic() + _ESTABLISH_S
        while time.monotonic() < deadline:
            # Null until the first of them is known.
            conditions = self._ask("GET", path)["status"]["conditions"] or []
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                return
            time.sleep(0.05)
        raise Unusable(f"{definition['metadata']['name']} was not established in {_ESTABLISH_S:.0f} s")

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            self._url + path,
            method=method,
            headers=self._headers,
            data=None if body is None else json.dumps(body).encode(),
        )
        try:
            with urllib.request.urlopen(request, context=self._tls, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read(500).decode(errors="replace")
            raise Unusable(f"{method} {path}: {error.code} {text}") from None
