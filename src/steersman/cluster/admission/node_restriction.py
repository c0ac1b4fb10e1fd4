"""The NodeRestriction plugin: a node may write only its own objects and those of its pods.

It completes the Node authorizer, which does not see the objects. It applies to users `system:node:NAME` of
the group system:nodes only. The rules by resource:

| resource                | a node may                                                                      |
|-------------------------|---------------------------------------------------------------------------------|
| pods                    | create mirror pods of itself that mention no API object, delete pods it runs    |
| pods/status, /eviction  | of the pods it runs                                                             |
| nodes                   | itself, without touching taints, owners and reserved labels                     |
| persistentvolumeclaims  | report size and conditions in the status                                        |
| serviceaccounts/token   | for pods it runs, for audiences that their volumes name                         |
| podcertificaterequests  | for pods it runs, from signers that their volumes name                          |
| leases, csinodes        | its own                                                                         |
| resourceslices          | create and delete its own                                                       |
| certificate requests    | as itself                                                                       |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from cryptography.x509.oid import NameOID

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.cluster.admission.node_pods import check_mirror_pod, claims_status, driver_audiences
from steersman.cluster.auth.authorization import Action, Authorizer
from steersman.cluster.auth.nodes import node_of
from steersman.cluster.auth.users import NODE_PREFIX
from steersman.cluster.schema.pem import certificate_request
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim, Pod
from steersman.objects.pods import MIRROR_ANNOTATION
from steersman.objects.status import StatusError, not_found

__all__ = ["NodeRestriction"]

_LEASES: Final = "kube-node-lease"
_RESTRICTED: Final = "node-restriction.kubernetes.io"
_KUBELET_LABELS: Final = frozenset(
    {
        "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "kubernetes.io/os",
        "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
    }
)  # fmt: skip
_KUBELET_LABEL_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_NODE_SIGNERS: Final = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
_CERTIFICATES: Final = "certificates.k8s.io"

_Check = Callable[[str, Attributes], None]


class NodeRestriction:
    name = "NodeRestriction"

    def __init__(self, reader: Reader, authorizer: Authorizer) -> None:
        self._reader = reader
        self._authorizer = authorizer
        self._checks: Mapping[tuple[str, str], _Check] = {
            ("", "pods"): self._pod,
            ("", "nodes"): _node,
            ("", "persistentvolumeclaims"): _claim,
            ("", "serviceaccounts"): self._token,
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("resource.k8s.io", "resourceslices"): _slice,
            (_CERTIFICATES, "certificatesigningrequests"): _signing_request,
            (_CERTIFICATES, "podcertificaterequests"): self._pod_certificate,
        }

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation in ("CREATE", "UPDATE", "DELETE") and (group, plural) in self._checks

    def admit(self, attributes: Attributes) -> None:
        node = node_of(attributes.user)
        if node is None:
            return
        if not node:
            user = quote(attributes.user.name)
            raise attributes.refusal(f"could not determine node from user {user}")
        self._checks[attributes.group, attributes.plural](node, attributes)

    def validate(self, attributes: Attributes) -> None:
        return None

    # --- Pods

    def _pod(self, node: str, attributes: Attributes) -> None:
        match attributes.subresource:
            case "":
                self._whole_pod(node, attributes)
            case "status":
                _pod_status(node, attributes)
            case "eviction":
                self._eviction(node, attributes)
            case other:
                raise attributes.refusal(
                    f"unexpected pod subresource {quote(other)}, only 'status' and 'eviction' are allowed"
                )

    def _whole_pod(self, node: str, attributes: Attributes) -> None:
        if attributes.operation == "CREATE":
            check_mirror_pod(node, attributes, self._reader)
        elif attributes.operation == "DELETE":
            if self._stored_pod(attributes, attributes.name)["spec"].get("nodeName", "") != node:
                raise attributes.refusal(
                    f"node {quote(node)} can only delete pods with spec.nodeName set to itself"
                )
        else:
            raise attributes.refusal(
                f"unexpected operation {quote(attributes.operation)}, node {quote(node)} can only create "
                "and delete mirror pods"
            )

    def _eviction(self, node: str, attributes: Attributes) -> None:
        if attributes.operation != "CREATE":
            raise attributes.refusal(f"unexpected operation {attributes.operation}")
        name = attributes.name or ((attributes.object or {}).get("metadata") or {}).get("name", "")
        if not name:
            raise attributes.refusal("could not determine pod from request data")
        if self._stored_pod(attributes, name)["spec"].get("nodeName", "") != node:
            raise attributes.refusal(f"node {node} can only evict pods with spec.nodeName set to itself")

    def _stored_pod(self, attributes: Attributes, name: str) -> Pod:
        return cast("Pod", self._stored("", "pods", attributes.namespace, name))

    def _stored(self, group: str, plural: str, namespace: str, name: str) -> Object:
        found = self._reader.get(group, plural, namespace, name)
        if found is None:
            # Informers, which Kubernetes asks here, call things by their singular.
            raise not_found(group, plural.removesuffix("s"), name)
        return found

    # --- Tokens

    def _token(self, node: str, attributes: Attributes) -> None:
        if attributes.operation != "CREATE" or attributes.subresource != "token":
            return
        assert attributes.object is not None
        spec = attributes.object["spec"]
        bound = spec.get("boundObjectRef") or {}
        if (bound.get("apiVersion"), bound.get("kind")) != ("v1", "Pod") or not bound.get("name"):
            raise attributes.refusal("node requested token not bound to a pod")
        uid = bound.get("uid")
        if not uid:
            raise attributes.refusal("node requested token with a pod binding without a uid")
        pod = self._stored_pod(attributes, bound["name"])
        if uid != pod["metadata"]["uid"]:
            raise attributes.refusal(
                f"the UID in the bound object reference ({uid}) does not match the UID in record. The "
                "object might have been deleted and then recreated"
            )
        if pod["spec"].get("nodeName") != node:
            raise attributes.refusal("node requested token bound to a pod scheduled on a different node")
        self._audience(attributes, pod, spec.get("audiences") or [])

    def _audience(self, attributes: Attributes, pod: Pod, audiences: list[str]) -> None:
        if len(audiences) > 1:
            raise attributes.refusal("node may only request 0 or 1 audiences")
        wanted = audiences[0] if audiences else ""
        try:
            if wanted in driver_audiences(pod, self._reader, wanted):
                return
        except StatusError as error:
            raise attributes.refusal(f"error validating audience {quote(wanted)}: {error.message}") from error
        if not self._may(attributes, "request-serviceaccounts-token-audience", wanted, attributes.name):
            raise attributes.refusal(
                f"{attributes.user.name} is not authorized to request tokens for audience {quote(wanted)}"
            )

    def _may(self, attributes: Attributes, verb: str, resource: str, name: str) -> bool:
        action = Action(
            verb, attributes.group, attributes.version, resource, namespace=attributes.namespace, name=name
        )
        return self._authorizer.allows(attributes.user, action)

    # --- Pod certificates

    def _pod_certificate(self, node: str, attributes: Attributes) -> None:
        if attributes.operation != "CREATE":
            raise attributes.refusal(f"unexpected operation {attributes.operation}")
        if attributes.subresource:
            raise attributes.refusal(f"unexpected subresource {attributes.subresource}")
        assert attributes.object is not None
        spec = attributes.object["spec"]
        if spec.get("nodeName") != node:
            raise attributes.refusal(
                f"PodCertificateRequest.Spec.NodeName={quote(spec.get('nodeName') or '')}, which is not the "
                f"requesting node {quote(node)}"
            )
        pod = self._certified_pod(attributes, spec)
        self._certified_account(attributes, spec, pod)
        signer = spec.get("signerName", "")
        sources = (
            source
            for volume in pod["spec"].get("volumes") or ()
            for source in (volume.get("projected") or {}).get("sources") or ()
        )
        if any((source.get("podCertificate") or {}).get("signerName") == signer for source in sources):
            return
        verb, resource = "request-serviceaccounts-podcertificate-signer", signer.replace("/", ":")
        if not self._may(attributes, verb, resource, spec.get("serviceAccountName", "")):
            raise attributes.refusal(
                f"pod {_place(attributes, spec)} does not mount a podCertificate projected volume for signer "
                f"{quote(signer)}"
            )

    def _certified_pod(self, attributes: Attributes, spec: Object) -> Pod:
        place = _place(attributes, spec)
        node = self._named(f"node {quote(spec['nodeName'])}", "nodes", "", spec["nodeName"])
        uid, real = spec.get("nodeUID", ""), node["metadata"]["uid"]
        if uid != real:
            raise _failure(
                f"PodCertificateRequest for pod {place} names node UID {quote(uid)}, inconsistent with the "
                f"running node ({quote(real)})"
            )
        pod = self._named(f"pod {place}", "pods", attributes.namespace, spec.get("podName", ""))
        uid, real = spec.get("podUID", ""), pod["metadata"]["uid"]
        if uid != real:
            raise _failure(
                f"PodCertificateRequest for pod {place} contains pod UID ({quote(uid)}) which differs from "
                f"running pod {quote(real)}"
            )
        if pod["spec"].get("nodeName", "") != spec["nodeName"]:
            raise attributes.refusal(
                f"pod {place} is not running on node {quote(spec['nodeName'])} named in the "
                "PodCertificateRequest"
            )
        if MIRROR_ANNOTATION in pod["metadata"].get("annotations", {}):
            raise attributes.refusal(f"pod {place} is a mirror pod")
        return cast("Pod", pod)

    def _certified_account(self, attributes: Attributes, spec: Object, pod: Pod) -> None:
        place = _place(attributes, spec)
        name, running = spec.get("serviceAccountName", ""), pod["spec"].get("serviceAccountName", "")
        if name != running:
            raise attributes.refusal(
                f"PodCertificateRequest for pod {place} contains serviceAccountName ({quote(name)}) that "
                f"differs from running pod ({quote(running)})"
            )
        what = f"service account {quote(f'{attributes.namespace}/{name}')}"
        account = self._named(what, "serviceaccounts", attributes.namespace, name)
        uid, real = spec.get("serviceAccountUID", ""), account["metadata"]["uid"]
        if uid != real:
            raise _failure(
                f"PodCertificateRequest for pod {place} names service account UID {quote(uid)}, which "
                f"differs from the running service account ({quote(real)})"
            )

    def _named(self, what: str, plural: str, namespace: str, name: str) -> Object:
        """An object a request names; without it the request failed rather than was refused, so that the
        node tries again."""
        try:
            return self._stored("", plural, namespace, name)
        except StatusError as error:
            why = f"while retrieving {what} named in the PodCertificateRequest: {error.message}"
            raise _failure(why) from error


def _failure(why: str) -> StatusError:
    return StatusError(500, "", why)


def _place(attributes: Attributes, spec: Object) -> str:
    return quote(f"{attributes.namespace}/{spec.get('podName', '')}")


def _pod_status(node: str, attributes: Attributes) -> None:
    if attributes.operation != "UPDATE":
        raise attributes.refusal(f"unexpected operation {quote(attributes.operation)}")
    new, old = attributes.object, attributes.old
    assert new is not None
    assert old is not None
    if old["spec"].get("nodeName", "") != node:
        raise attributes.refusal(
            f"node {quote(node)} can only update pod status for pods with spec.nodeName set to itself"  # noqa: S608 - no SQL
        )
    if new["metadata"].get("labels", {}) != old["metadata"].get("labels", {}):
        raise attributes.refusal(f"node {quote(node)} cannot update labels through pod status")
    status, before = new.get("status") or {}, old.get("status") or {}
    for field, text in claims_status:
        if (status.get(field) or None) != (before.get(field) or None):
            raise attributes.refusal(f"node {quote(node)} cannot update {text}")


# --- What is a node's own


def _node(node: str, attributes: Attributes) -> None:
    name = attributes.name
    if name != node:
        raise attributes.refusal(f"node {quote(node)} is not allowed to modify node {quote(name)}")
    if attributes.operation == "DELETE":
        return
    assert attributes.object is not None
    metadata, spec = attributes.object["metadata"], attributes.object.get("spec") or {}
    labels = metadata.get("labels", {})
    if attributes.operation == "CREATE":
        if spec.get("configSource") is not None:
            raise attributes.refusal(
                f"node {quote(node)} is not allowed to create pods with a non-nil configSource"
            )
        if taken := _reserved(labels):
            raise attributes.refusal(
                f"node {quote(node)} is not allowed to set the following labels: {', '.join(taken)}"
            )
        return
    assert attributes.old is not None
    before, old_spec = attributes.old["metadata"], attributes.old.get("spec") or {}
    source = spec.get("configSource")
    if source is not None and source != old_spec.get("configSource"):
        raise attributes.refusal(
            f"node {quote(node)} is not allowed to update configSource to a new non-nil configSource"
        )
    if (spec.get("taints") or []) != (old_spec.get("taints") or []):
        raise attributes.refusal(f"node {quote(node)} is not allowed to modify taints")
    if (metadata.get("ownerReferences") or []) != (before.get("ownerReferences") or []):
        raise attributes.refusal(f"node {quote(node)} is not allowed to modify ownerReferences")
    old_labels = before.get("labels", {})
    changed = [key for key in {*labels, *old_labels} if labels.get(key) != old_labels.get(key)]
    if taken := _reserved(changed):
        raise attributes.refusal(f"is not allowed to modify labels: {', '.join(taken)}")


def _reserved(labels: Iterable[str]) -> list[str]:
    """Those that a node may not set on itself: they could draw work that is not meant for it."""
    return sorted(label for label in labels if _is_reserved(label))


def _is_reserved(label: str) -> bool:
    domain, slash, _ = label.partition("/")
    if not slash:
        return False
    if _within(domain, _RESTRICTED):
        return True
    kubernetes = _within(domain, "kubernetes.io") or _within(domain, "k8s.io")
    ours = label in _KUBELET_LABELS or any(_within(domain, each) for each in _KUBELET_LABEL_DOMAINS)
    return kubernetes and not ours


def _within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _claim(node: str, attributes: Attributes) -> None:
    if attributes.subresource != "status":
        raise attributes.refusal("may only update PVC status")
    if attributes.operation != "UPDATE":
        raise attributes.refusal(f"unexpected operation {quote(attributes.operation)}")
    assert attributes.object is not None
    assert attributes.old is not None
    new = cast("PersistentVolumeClaim", attributes.object)
    if _fixed_part(new) != _fixed_part(cast("PersistentVolumeClaim", attributes.old)):
        raise attributes.refusal(
            f"node {quote(node)} is not allowed to update fields other than status.quantity and "
            "status.conditions"
        )


_REPORTED: Final = frozenset({"capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"})


def _fixed_part(claim: PersistentVolumeClaim) -> Object:
    metadata = {k: v for k, v in claim["metadata"].items() if k not in ("resourceVersion", "managedFields")}
    status = {key: value for key, value in (claim.get("status") or {}).items() if key not in _REPORTED}
    return {**claim, "metadata": metadata, "status": status}


def _own_name(attributes: Attributes) -> str:
    if attributes.operation == "CREATE":
        assert attributes.object is not None
        return str(attributes.object["metadata"].get("name", ""))
    return attributes.name


def _lease(node: str, attributes: Attributes) -> None:
    if attributes.namespace != _LEASES:
        raise attributes.refusal(f"can only access leases in the {quote(_LEASES)} system namespace")
    if _own_name(attributes) != node:
        raise attributes.refusal("can only access node lease with the same name as the requesting node")


def _csi_node(node: str, attributes: Attributes) -> None:
    if _own_name(attributes) != node:
        raise attributes.refusal("can only access CSINode with the same name as the requesting node")
    if attributes.subresource == "status":
        raise attributes.refusal("CSIVolumeHealth feature gate is disabled")


def _slice(node: str, attributes: Attributes) -> None:
    if attributes.operation == "UPDATE":
        return
    created = attributes.operation == "CREATE"
    subject = attributes.object if created else attributes.old
    assert subject is not None
    if subject["spec"].get("nodeName") != node:
        verb = "create" if created else "delete"
        raise attributes.refusal(
            f"can only {verb} ResourceSlice with the same NodeName as the requesting node"
        )


def _signing_request(node: str, attributes: Attributes) -> None:
    if attributes.operation != "CREATE":
        return
    assert attributes.object is not None
    spec = attributes.object["spec"]
    if spec.get("signerName") not in _NODE_SIGNERS:
        return
    try:
        request = certificate_request(spec.get("request") or "")
    except ValueError as error:
        raise attributes.refusal(f"unable to parse csr: {error}") from error
    names = [part.value for part in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if names[-1:] != [NODE_PREFIX + node]:
        raise attributes.refusal(f"can only create a node CSR with CN={NODE_PREFIX}{node}")
