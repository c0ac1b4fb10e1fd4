"""The files of configMap, secret, downwardAPI and projected volumes.

Objects come from `References`, tokens from `Tokens`, certificates from `PodCertificates`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from steersman.cluster.node.downward import DownwardNodeFacts
from steersman.cluster.node.volumes.atomic import File
from steersman.cluster.node.volumes.certificates import PodCertificates, certificate_requests_of
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.ownership import fs_group_of, fs_user_of
from steersman.cluster.node.volumes.payloads import (
    DEFAULT_MODE,
    Files,
    config_map_files,
    downward_files,
    secret_files,
)
from steersman.cluster.node.volumes.references import ObjectReference, References
from steersman.cluster.node.volumes.tokens import ProjectedTokenRequest, Tokens
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.labels import labels_of
from steersman.objects.pods import configmap_names, secret_names
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CONFIG_MAPS, SECRETS
from steersman.objects.selectors import LabelSelector

__all__ = ["PROJECTED", "Projected", "Projections", "is_projected", "references_of"]

Source = Mapping[str, Any]

#: The kinds of volumes, and the folders that the kubelet has for each.
PROJECTED: Final[Mapping[Literal["configMap", "secret", "downwardAPI", "projected"], str]] = {
    "configMap": "kubernetes.io~configmap",
    "secret": "kubernetes.io~secret",
    "downwardAPI": "kubernetes.io~downward-api",
    "projected": "kubernetes.io~projected",
}
_TRUST_BUNDLES: Final = ResourceType(
    "certificates.k8s.io", "v1", "ClusterTrustBundle", "clustertrustbundles", namespaced=False
)
#: All of them: anybody may read them, and there are few.
_ALL_BUNDLES: Final = ObjectReference(_TRUST_BUNDLES, "", "")
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)
#: Of what is the pod's own, where its group is then let in.
_OWN_MODE: Final = 0o600


class Projected(NamedTuple):
    """The files of a volume."""

    files: Files
    #: When something in it has to be renewed (wall clock); None: never.
    renew_at: float | None = None


def is_projected(volume: Source) -> bool:
    return any(kind in volume for kind in PROJECTED)


def references_of(pod: Pod) -> Iterator[ObjectReference]:
    """Everything that a pod refers to, in volumes and variables."""
    namespace, spec = pod["metadata"]["namespace"], pod["spec"]
    for name in configmap_names(spec):
        yield ObjectReference.to(CONFIG_MAPS, namespace, name)
    for name in secret_names(spec):
        yield ObjectReference.to(SECRETS, namespace, name)
    for volume in spec.get("volumes") or ():
        for part in (volume.get("projected") or {}).get("sources") or ():
            if "clusterTrustBundle" in part:
                yield _ALL_BUNDLES
            elif "podCertificate" in part:
                yield certificate_requests_of(pod)


class _Volume(NamedTuple):
    """A volume to be filled."""

    pod: Pod
    name: str
    mode: int
    #: Reads what it shows now.
    known: Callable[[str], bytes]

    def own(self, data: bytes) -> File:
        """A file that is nobody else's business."""
        owner = fs_user_of(self.pod)
        shared = owner is None and fs_group_of(self.pod) is None
        return File(data, self.mode if shared else _OWN_MODE, owner)


class Projections:
    """Computes the files of volumes."""

    def __init__(
        self, references: References, tokens: Tokens, certificates: PodCertificates, node: DownwardNodeFacts
    ) -> None:
        self._references = references
        self._tokens = tokens
        self._certificates = certificates
        self._node = node

    async def project(
        self, pod: Pod, name: str, kind: str, source: Source, known: Callable[[str], bytes]
    ) -> Projected:
        """What a volume has to show; `known` reads what it shows now. Raises `VolumeProblem`, `NotRead`."""
        mode = source.get("defaultMode")
        volume = _Volume(pod, name, DEFAULT_MODE if mode is None else int(mode), known)
        if kind != "projected":
            return await self._part(volume, kind, source)
        files: Files = {}
        renewals = []
        for part in source.get("sources") or ():
            for part_kind, part_source in part.items():
                made = await self._part(volume, part_kind, part_source)
                files |= made.files
                if made.renew_at is not None:
                    renewals.append(made.renew_at)
        return Projected(files, min(renewals, default=None))

    def forget(self, uid: str) -> None:
        """A pod is over."""
        self._tokens.forget(uid)
        self._certificates.forget(uid)

    async def _part(self, volume: _Volume, kind: str, source: Source) -> Projected:
        pod, mode = volume.pod, volume.mode
        items, optional = source.get("items") or (), bool(source.get("optional"))
        match kind:
            case "configMap":
                found = await self._object(pod, CONFIG_MAPS, source.get("name", ""), optional=optional)
                return Projected(config_map_files(found, items, mode, optional=optional))
            case "secret":
                name = source.get("secretName") or source.get("name", "")
                found = await self._object(pod, SECRETS, name, optional=optional)
                return Projected(secret_files(found, items, mode, optional=optional))
            case "downwardAPI":
                return Projected(downward_files(pod, items, mode, self._node))
            case "serviceAccountToken":
                return await self._token(volume, source)
            case "podCertificate":
                return await self._certificate(volume, source)
            case "clusterTrustBundle":
                return Projected({source["path"]: volume.own(await self._anchors(source))})
        raise VolumeProblem(f"this node cannot project {kind}")

    async def _object(self, pod: Pod, kind: ResourceType, name: str, *, optional: bool) -> Mapping[str, Any]:
        reference = ObjectReference.to(kind, pod["metadata"]["namespace"], name)
        found = await self._references.one(reference)
        if found is None and not optional:
            raise VolumeProblem(f"{kind.kind.lower()} {quote(name)} not found")
        return found or {}

    async def _token(self, volume: _Volume, source: Source) -> Projected:
        pod, metadata = volume.pod, volume.pod["metadata"]
        request = ProjectedTokenRequest(
            metadata["namespace"],
            pod["spec"].get("serviceAccountName") or "default",
            metadata["name"],
            metadata["uid"],
            source.get("audience", ""),
            source.get("expirationSeconds") or 3600,
        )
        token = await self._tokens.get(request, volume.known(source["path"]))
        return Projected({source["path"]: volume.own(token.text.encode())}, token.renew_at)

    async def _certificate(self, volume: _Volume, source: Source) -> Projected:
        found = await self._certificates.get(volume.pod, volume.name, source)
        contents = {
            "credentialBundlePath": found.key + found.chain,
            "keyPath": found.key,
            "certificateChainPath": found.chain,
        }
        files = {
            source[field]: volume.own(content) for field, content in contents.items() if source.get(field)
        }
        return Projected(files, found.renew_at)

    async def _anchors(self, source: Source) -> bytes:
        bundles = await self._references.all(_ALL_BUNDLES)
        name, signer = source.get("name"), source.get("signerName")
        if name is not None:
            chosen = [one for one in bundles if one["metadata"]["name"] == name]
            missing = (
                f'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "{name}" not found'
            )
        else:
            matches = LabelSelector.from_object(source.get("labelSelector")).matches
            chosen = [
                one for one in bundles if one["spec"].get("signerName") == signer and matches(labels_of(one))
            ]
            missing = "combination of signerName and labelSelector matched zero ClusterTrustBundles"
        if not chosen and not source.get("optional"):
            raise VolumeProblem(missing)
        found = (block for one in chosen for block in _CERTIFICATE.findall(one["spec"]["trustBundle"]))
        return "".join(sorted({block.rstrip("\n") + "\n" for block in found})).encode()
