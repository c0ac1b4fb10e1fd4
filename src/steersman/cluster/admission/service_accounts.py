"""The ServiceAccount plugin: sets a pod's service account and adds a volume with its token.

Pods that name no account get `default`, which a controller creates in every namespace soon after the
namespace; a pod created before that waits for it. `lenient_default` is for clusters without this controller:
a missing `default` then counts as one without settings. Every other account must exist.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Iterator
from typing import Final, cast

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.objects.kinds import Object
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.types.core_v1 import (
    DownwardAPIVolumeFile,
    Pod,
    PodSpec,
    ProjectedVolumeSource,
    VolumeMount,
)
from steersman.objects.names import generate_name
from steersman.objects.pods import (
    MIRROR_ANNOTATION,
    environment_sources,
    secret_names,
)
from steersman.objects.status import StatusError

__all__ = ["ServiceAccount"]

_DEFAULT: Final = "default"
_ENFORCE_SECRETS: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_VOLUME_PREFIX: Final = "kube-api-access-"
_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
#: An hour and what tells clients that their tokens are about to be short-lived.
_TOKEN_S: Final = 3607
_TRIES: Final = 10
#: Volume names need only differ within their pod; the system's own source costs a call per character.
_random: Final = random.Random(os.urandom(16))


class ServiceAccount:
    name = "ServiceAccount"

    def __init__(self, reader: Reader, *, lenient_default: bool = False, retry_s: float = 0.15) -> None:
        self._reader = reader
        self._lenient_default = lenient_default
        self._retry_s = retry_s

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return (
            not group
            and plural == "pods"
            and (operation, subresource) in (("CREATE", ""), ("UPDATE", "ephemeralcontainers"))
        )

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        assert attributes.object is not None
        pod = cast("Pod", attributes.object)
        if attributes.operation != "CREATE":
            return None
        if _is_mirror(pod):
            _check_mirror(attributes, pod["spec"])
            return None
        spec = pod["spec"]
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT
        account = self._find(attributes, spec["serviceAccountName"])
        if account is None:
            if spec["serviceAccountName"] == _DEFAULT:
                return self._wait(attributes)
            raise self._missing(attributes)
        _complete(attributes, account)
        return None

    def validate(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        pod = cast("Pod", attributes.object)
        spec = pod["spec"]
        if attributes.operation == "CREATE" and _is_mirror(pod):
            _check_mirror(attributes, spec)
            return
        name = spec.get("serviceAccountName")
        if not name:
            where = f"{attributes.namespace}/{pod['metadata'].get('name', '')}"
            raise attributes.refusal(f"no service account specified for pod {where}")
        account = self._find(attributes, name)
        if account is None:
            raise self._missing(attributes)
        _check_secrets(attributes, account)

    def _find(self, attributes: Attributes, name: str) -> core_v1.ServiceAccount | None:
        found = self._reader.get("", "serviceaccounts", attributes.namespace, name)
        if found is None and name == _DEFAULT and self._lenient_default:
            return {"metadata": {"name": name}}
        return cast("core_v1.ServiceAccount | None", found)

    async def _wait(self, attributes: Attributes) -> None:
        """For the default account of a namespace that is only just there."""
        for _ in range(_TRIES - 1):
            await asyncio.sleep(self._retry_s)
            account = self._find(attributes, _DEFAULT)
            if account is not None:
                _complete(attributes, account)
                return
        raise self._missing(attributes)

    @staticmethod
    def _missing(attributes: Attributes) -> StatusError:
        assert attributes.object is not None
        name = attributes.object["spec"]["serviceAccountName"]
        where = f"{attributes.namespace}/{name}"
        return attributes.refusal(
            f'error looking up service account {where}: serviceaccount "{name}" not found'
        )


def _is_mirror(pod: Pod) -> bool:
    return MIRROR_ANNOTATION in pod["metadata"].get("annotations", {})


def _check_mirror(attributes: Attributes, spec: PodSpec) -> None:
    if spec.get("serviceAccountName"):
        raise attributes.refusal("a mirror pod may not reference service accounts")
    if any(secret_names(spec)):
        raise attributes.refusal("a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                raise attributes.refusal("a mirror pod may not use ServiceAccountToken volume projections")


# --- What a pod gets from its account


def _complete(attributes: Attributes, account: core_v1.ServiceAccount) -> None:
    assert attributes.object is not None
    spec = attributes.object["spec"]
    wants_token = spec.get("automountServiceAccountToken")
    if wants_token is None:
        wants_token = account.get("automountServiceAccountToken")
    if wants_token is not False:
        _mount_token(spec)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [
            {"name": secret["name"]} if secret.get("name") else {} for secret in account["imagePullSecrets"]
        ]
    _check_secrets(attributes, account)


def _mount_token(spec: PodSpec) -> None:
    volumes = spec.get("volumes") or []
    existing = (volume["name"] for volume in volumes if volume["name"].startswith(_VOLUME_PREFIX))
    name = next(existing, "")
    volume_name = name or generate_name(_VOLUME_PREFIX, _random)
    needed = False
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        mounts = container.get("volumeMounts") or []
        if not any(mount.get("mountPath") == _MOUNT_PATH for mount in mounts):
            mount: VolumeMount = {"name": volume_name, "readOnly": True, "mountPath": _MOUNT_PATH}
            container["volumeMounts"] = [*mounts, mount]
            needed = True
    if needed and not name:
        spec["volumes"] = [*volumes, {"name": volume_name, "projected": _token_source()}]


def _token_source() -> ProjectedVolumeSource:
    """The token, whom to trust, and where the pod is."""
    namespace: DownwardAPIVolumeFile = {
        "path": "namespace",
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
    }
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_S, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }


# --- Accounts that list the secrets their pods may use


def _check_secrets(attributes: Attributes, account: core_v1.ServiceAccount) -> None:
    annotations = account["metadata"].get("annotations", {})
    if annotations.get(_ENFORCE_SECRETS) not in _TRUE:
        return
    assert attributes.object is not None
    spec, name = attributes.object["spec"], account["metadata"]["name"]
    allowed = {secret.get("name", "") for secret in account.get("secrets") or ()}
    if attributes.subresource:
        uses = _container_uses(spec, "ephemeralContainers", "ephemeral container")
    else:
        uses = _uses(spec)
    for what, secret in uses:
        if secret not in allowed:
            why = f"{what} is not allowed because service account {name} does not reference that secret"
            raise _unnamed(why) if attributes.subresource else attributes.refusal(why)
    if attributes.subresource:
        return
    pulling = {secret.get("name", "") for secret in account.get("imagePullSecrets") or ()}
    for index, reference in enumerate(spec.get("imagePullSecrets") or ()):
        if reference.get("name", "") not in pulling:
            raise attributes.refusal(
                f'imagePullSecrets[{index}].name="{reference.get("name", "")}" is not allowed because '
                f"service account {name} does not reference that imagePullSecret"
            )


def _unnamed(why: str) -> StatusError:
    """Kubernetes answers a refused ephemeral container as if it had failed itself."""
    return StatusError(500, "", why)


def _uses(spec: Object) -> Iterator[tuple[str, str]]:
    """(how, which) for every secret that volumes and environments take."""
    for volume in spec.get("volumes") or ():
        if volume.get("secret") is not None:
            secret = volume["secret"].get("secretName", "")
            yield f'volume with secret.secretName="{secret}"', secret
    yield from _container_uses(spec, "initContainers", "init container")
    yield from _container_uses(spec, "containers", "container")


def _container_uses(spec: Object, field: str, noun: str) -> Iterator[tuple[str, str]]:
    for container in spec.get(field) or ():
        for variable, secret in environment_sources(container, "secret"):
            how = f"envVar {variable}" if variable else "envFrom"
            yield f'{noun} {container["name"]} with {how} referencing secret.secretName="{secret}"', secret
