"""The same operator for kopf, as lean as kopf lets it be. Started by `kopf run`.

The child is made over one shared aiohttp session, which is less work than with any client library; events
are not posted, and the finalizer is not needed. It knows nothing of Steersman.
"""

# kopf's types say less than its documentation.
# mypy: disable-error-code="no-untyped-call, arg-type"

from __future__ import annotations

import ssl
from typing import Any

import aiohttp
import kopf

GROUP = "kopf.bench.example.com"


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False


class Api:
    """A session to the API server, opened when first used."""

    def __init__(self) -> None:
        self.login: kopf.ConnectionInfo | None = None
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            assert self.login is not None
            tls = ssl.create_default_context()
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
            self._session = aiohttp.ClientSession(
                self.login.server,
                headers={"Authorization": f"Bearer {self.login.token}"},
                connector=aiohttp.TCPConnector(ssl=tls),
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


api = Api()


@kopf.on.login()
def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    api.login = kopf.login_with_kubeconfig(**kwargs)
    return api.login


@kopf.on.cleanup()
async def close(**_: Any) -> None:
    await api.close()


@kopf.on.create(GROUP, "v1", "things")
async def create(name: str, namespace: str, spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-kopf"},
        "data": {"value": spec["value"]},
    }
    kopf.adopt(child)
    async with api.session().post(f"/api/v1/namespaces/{namespace}/configmaps", json=child) as answer:
        if answer.status not in (201, 409):
            raise kopf.TemporaryError(await answer.text(), delay=1)
    patch.status["done"] = True
