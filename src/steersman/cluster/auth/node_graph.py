"""The graph of the Node authorizer: the objects that a node's pods reference, its volumes, attachments and
claims.

Pods change all the time and nodes ask rarely, so a change is only recorded (one dictionary write in the
commit) and processed at the next question. Edges are counted by node, so a question is one or two dictionary
reads however many pods there are.

    pod → node                        secret, configmap, claim, service account → pod
    volume → claim → pod              secret → volume (the kubelet mounts it)
    attachment, slice, certificate request → node
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import orjson

from steersman.cluster.store import Store, Subscription
from steersman.cluster.store_changes import OnChange, follow
from steersman.objects.kinds import Object
from steersman.objects.pods import MIRROR_ANNOTATION, SECRET_REFERENCES, configmap_names, secret_names

__all__ = ["NodeGraph"]

#: (resource, namespace, name)
_Reference = tuple[str, str, str]

_PREFIXES = {
    "pods": "/core/pods/",
    "persistentvolumes": "/core/persistentvolumes/",
    "volumeattachments": "/storage.k8s.io/volumeattachments/",
    "resourceslices": "/resource.k8s.io/resourceslices/",
    "podcertificaterequests": "/certificates.k8s.io/podcertificaterequests/",
}
_MOUNTED_CSI_SECRETS = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")


class NodeGraph:
    """The edges from objects to nodes."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, str], bytes | None] = {}
        #: Who stands in for what: pod → its references (itself among them), with its node.
        self._pods: dict[str, tuple[str, frozenset[_Reference]]] = {}
        self._nodes: dict[_Reference, Counter[str]] = {}
        #: volume → the claim it serves and the secrets it needs; and back.
        self._volumes: dict[str, tuple[_Reference, frozenset[_Reference]]] = {}
        self._secret_volumes: dict[_Reference, set[str]] = {}
        #: Objects that name their node themselves.
        self._owned: dict[_Reference, str] = {}

    def follow(self, store: Store) -> list[Subscription]:
        return [follow(store, prefix, self._noting(plural)) for plural, prefix in _PREFIXES.items()]

    def _noting(self, plural: str) -> OnChange:
        pending = self._pending

        def note(rest: str, value: bytes | None) -> None:
            if value is None and not self._knows(plural, rest):
                pending.pop((plural, rest), None)
            else:
                pending[plural, rest] = value

        return note

    def _knows(self, plural: str, rest: str) -> bool:
        if plural == "pods":
            return rest in self._pods
        if plural == "persistentvolumes":
            return rest in self._volumes
        namespace, _, name = rest.rpartition("/")
        return (plural, namespace, name) in self._owned

    def related(self, node: str, plural: str, namespace: str, name: str) -> bool:
        """Whether the object has to do with the node."""
        self._catch_up()
        reference = (plural, namespace, name)
        if plural == "persistentvolumes":
            return name in self._volumes and self._reaches(self._volumes[name][0], node)
        if self._owned.get(reference) == node or self._reaches(reference, node):
            return True
        volumes = self._secret_volumes.get(reference, ())
        return any(self._reaches(self._volumes[volume][0], node) for volume in volumes)

    def _reaches(self, reference: _Reference, node: str) -> bool:
        nodes = self._nodes.get(reference)
        return nodes is not None and node in nodes

    def _catch_up(self) -> None:
        if not self._pending:
            return
        changes = list(self._pending.items())
        self._pending.clear()
        for (plural, rest), value in changes:
            if plural == "pods":
                self._change_pod(rest, value)
            elif plural == "persistentvolumes":
                self._change_volume(rest, value)
            else:
                self._change_owned(plural, rest, value)

    def _change_pod(self, key: str, value: bytes | None) -> None:
        node, references = self._pods.pop(key, ("", frozenset()))
        for reference in references:
            nodes = self._nodes[reference]
            nodes[node] -= 1
            if not nodes[node]:
                del nodes[node]
                if not nodes:
                    del self._nodes[reference]
        # Most pods that are looked at without need are those that have no node yet.
        if value is None or b'"nodeName":' not in value:
            return
        pod = orjson.loads(value)
        node = pod["spec"].get("nodeName", "")
        if not node:
            return
        namespace, _, name = key.rpartition("/")
        references = frozenset(_pod_references(namespace, name, pod))
        self._pods[key] = (node, references)
        for reference in references:
            self._nodes.setdefault(reference, Counter())[node] += 1

    def _change_volume(self, name: str, value: bytes | None) -> None:
        _, secrets = self._volumes.pop(name, (("", "", ""), frozenset()))
        for secret in secrets:
            self._secret_volumes[secret].discard(name)
            if not self._secret_volumes[secret]:
                del self._secret_volumes[secret]
        if value is None:
            return
        spec = orjson.loads(value)["spec"]
        claim = spec.get("claimRef")
        if not claim:
            return
        namespace = claim.get("namespace", "")
        secrets = frozenset(_volume_secrets(spec, namespace))
        self._volumes[name] = (("persistentvolumeclaims", namespace, claim.get("name", "")), secrets)
        for secret in secrets:
            self._secret_volumes.setdefault(secret, set()).add(name)

    def _change_owned(self, plural: str, rest: str, value: bytes | None) -> None:
        namespace, _, name = rest.rpartition("/")
        node = "" if value is None else orjson.loads(value)["spec"].get("nodeName") or ""
        if node:
            self._owned[plural, namespace, name] = node
        else:
            self._owned.pop((plural, namespace, name), None)


def _pod_references(namespace: str, name: str, pod: Object) -> Iterator[_Reference]:
    yield "pods", namespace, name
    # A node makes its mirror pods itself: they must not open anything to it.
    if MIRROR_ANNOTATION in pod["metadata"].get("annotations", {}):
        return
    spec = pod["spec"]
    if account := spec.get("serviceAccountName"):
        yield "serviceaccounts", namespace, account
    for plural, mentioned in _mentioned(pod, spec):
        if mentioned:
            yield plural, namespace, mentioned


def _mentioned(pod: Object, spec: Object) -> Iterator[tuple[str, str]]:
    yield from (("secrets", name) for name in secret_names(spec))
    yield from (("configmaps", name) for name in configmap_names(spec))
    for volume in spec.get("volumes") or ():
        yield "persistentvolumeclaims", _claim(pod["metadata"]["name"], volume)
    status = pod.get("status") or {}
    made = {
        entry["name"]: entry.get("resourceClaimName") for entry in status.get("resourceClaimStatuses") or ()
    }
    for claim in spec.get("resourceClaims") or ():
        name = claim.get("resourceClaimName") or made.get(claim.get("name", ""))
        yield "resourceclaims", name or ""
    extended = status.get("extendedResourceClaimStatus") or {}
    yield "resourceclaims", extended.get("resourceClaimName", "")


def _claim(pod: str, volume: Object) -> str:
    """The claim behind a pod's volume; an ephemeral one is made under the names of both."""
    if volume.get("ephemeral") is not None:
        return f"{pod}-{volume['name']}"
    claim: str = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
    return claim


def _volume_secrets(spec: Object, claim_namespace: str) -> Iterator[_Reference]:
    """The secrets a volume is mounted with; they live with its claim unless it says otherwise."""
    references = [(spec.get(source) or {}).get(key) for source, key in SECRET_REFERENCES.items()]
    references += ((spec.get("csi") or {}).get(key) for key in _MOUNTED_CSI_SECRETS)
    for reference in references:
        if reference and reference.get("name"):
            yield "secrets", reference.get("namespace") or claim_namespace, reference["name"]
    azure = spec.get("azureFile") or {}
    if azure.get("secretName"):
        yield "secrets", azure.get("secretNamespace") or claim_namespace, azure["secretName"]
