"""NodeRestriction."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission import Attributes
from steersman.cluster.admission.node_restriction import NodeRestriction
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User

from .conftest import Object, Stored, write
from .refusals import ask, refused, why
from .test_certificates import request

NODE = User("system:node:n1", groups=("system:nodes",))
MIRROR = {"kubernetes.io/config.mirror": "x"}


class Allowing:
    def __init__(self, *allowed: tuple[str, str, str]) -> None:
        self.allowed = allowed

    def allows(self, user: User, action: Action) -> bool:
        return (action.verb, action.resource, action.name) in self.allowed


@pytest.fixture
def plugin(stored: Stored) -> NodeRestriction:
    stored.add("", "nodes", "n1", metadata={"uid": "node-uid"})
    stored.add("", "pods", "mine", metadata={"uid": "u1", "namespace": "default"}, spec={"nodeName": "n1"})
    stored.add("", "pods", "theirs", metadata={"uid": "u2"}, spec={"nodeName": "n2"})
    return NodeRestriction(stored, Allowing())


def by_node(plural: str, obj: Object | None = None, **rest: Any) -> Attributes:
    return write(plural, obj, user=NODE, **rest)


def update(plural: str, new: Object, old: Object, **rest: Any) -> Attributes:
    return by_node(plural, new, operation="UPDATE", old=old, **rest)


def test_others_pass(plugin: NodeRestriction) -> None:
    for user in (User("root"), User("system:node:n1"), User("n1", groups=("system:nodes",))):
        ask(plugin, write("nodes", {"metadata": {"name": "n2"}}, name="n2", user=user))


def test_a_node_without_name_is_refused(plugin: NodeRestriction) -> None:
    nobody = User("system:node:", groups=("system:nodes",))
    assert why(plugin, write("pods", {}, user=nobody)) == (
        'could not determine node from user "system:node:"'
    )


# --- Pods


def mirror(**change: Any) -> Object:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "node-uid", "controller": True}
    metadata = {"annotations": MIRROR, "ownerReferences": [owner | change.pop("owner", {})]}
    metadata |= change.pop("metadata", {})
    return {"metadata": metadata, "spec": {"nodeName": "n1", "containers": [], **change}}


def test_mirror_pods_of_its_own(plugin: NodeRestriction) -> None:
    volumes = [
        {"name": "a", "hostPath": {}},
        {"name": "b", "projected": {"sources": [{"downwardAPI": {}}]}},
    ]
    ask(plugin, by_node("pods", mirror(volumes=volumes)))


def volume(**source: Any) -> Object:
    return {"volumes": [{"name": "v", **source}]}


def projected(**source: Any) -> Object:
    return volume(projected={"sources": [source]})


WHO = 'node "n1"'
MIRRORS: list[tuple[Object, str]] = [
    ({"metadata": {"annotations": {}}},
     f'pod does not have "kubernetes.io/config.mirror" annotation, {WHO} can only create mirror pods'),
    ({"nodeName": "n2"}, f"{WHO} can only create pods with spec.nodeName set to itself"),
    ({"metadata": {"ownerReferences": [{}, {}]}},
     f"{WHO} can only create pods with a single owner reference set to itself"),
    ({"metadata": {"ownerReferences": []}}, f"{WHO} can only create pods with an owner reference set to itself"),
    ({"owner": {"name": "n2"}}, f"{WHO} can only create pods with an owner reference set to itself"),
    ({"owner": {"controller": False}},
     f"{WHO} can only create pods with a controller owner reference set to itself"),
    ({"owner": {"blockOwnerDeletion": True}}, f"{WHO} must not set blockOwnerDeletion on an owner reference"),
    ({"owner": {"uid": "x"}}, "node n1 UID mismatch: expected x got node-uid"),
    ({"serviceAccountName": "default"}, f"{WHO} can not create pods that reference serviceaccounts"),
    ({"imagePullSecrets": [{"name": "s"}]}, f"{WHO} can not create pods that reference secrets"),
    ({"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}]}]},
     f"{WHO} can not create pods that reference configmaps"),
    (volume(configMap={}), f"{WHO} can not create pods that reference configmaps (via configmap volumes)"),
    ({"resourceClaims": [{"name": "x"}]}, f"{WHO} can not create pods that reference resourceclaims"),
    (volume(csi={"driver": "d"}), f"{WHO} can not create pods that reference csidrivers (via CSI volumes)"),
    (volume(persistentVolumeClaim={"claimName": "c"}),
     f"{WHO} can not create pods that reference persistentvolumeclaims"),
    (projected(serviceAccountToken={"path": "t"}),
     f"{WHO} can not create pods that reference serviceaccounts (via projected volumes)"),
    (projected(clusterTrustBundle={}), f"{WHO} can not create pods that reference clustertrustbundles"),
    (projected(), 'error checking mirror pod for API references: unknown source for projected volume "v"'),
    (volume(), 'error checking mirror pod for API references: unknown volume type for volume  "v"'),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), MIRRORS, ids=[case[1] for case in MIRRORS])
def test_other_pods_are_not_for_nodes_to_make(plugin: NodeRestriction, change: Object, expected: str) -> None:
    assert why(plugin, by_node("pods", mirror(**change))) == expected


def test_a_node_ends_the_pods_it_runs(plugin: NodeRestriction) -> None:
    ask(plugin, by_node("pods", operation="DELETE", name="mine"))
    assert why(plugin, by_node("pods", operation="DELETE", name="theirs")) == (
        'node "n1" can only delete pods with spec.nodeName set to itself'
    )
    gone = refused(plugin, by_node("pods", operation="DELETE", name="gone"))
    assert (gone.code, gone.message) == (404, 'pod "gone" not found')
    ask(plugin, by_node("pods", {"metadata": {"name": "mine"}}, subresource="eviction", name="mine"))
    assert why(plugin, by_node("pods", {}, subresource="eviction", name="theirs")) == (
        "node n1 can only evict pods with spec.nodeName set to itself"
    )
    ask(plugin, by_node("pods", {"metadata": {"name": "mine"}}, subresource="eviction", name=""))
    for obj in ({}, None):
        assert why(plugin, by_node("pods", obj, subresource="eviction", name="")) == (
            "could not determine pod from request data"
        )


def test_no_other_writes_to_pods(plugin: NodeRestriction) -> None:
    assert why(plugin, update("pods", mirror(), mirror())) == (
        'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'
    )
    assert why(plugin, update("pods", mirror(), mirror(), subresource="resize")) == (
        "unexpected pod subresource \"resize\", only 'status' and 'eviction' are allowed"
    )


@pytest.mark.parametrize(
    ("new", "node", "expected"),
    [
        ({}, "n2", 'node "n1" can only update pod status for pods with spec.nodeName set to itself'),
        ({"metadata": {"labels": {"a": "b"}}}, "n1", 'node "n1" cannot update labels through pod status'),
        (
            {"status": {"resourceClaimStatuses": [{"name": "c"}]}},
            "n1",
            'node "n1" cannot update resource claim statues',
        ),
    ],
)
def test_pod_status(plugin: NodeRestriction, new: Object, node: str, expected: str) -> None:
    old = {"metadata": {}, "spec": {"nodeName": node}, "status": {}}
    assert why(plugin, update("pods", {**old, **new}, old, subresource="status")) == expected
    claims = {"resourceClaimStatuses": [{"name": "c"}]}
    fine = {**old, "spec": {"nodeName": "n1"}, "status": claims}
    ask(
        plugin, update("pods", {**fine, "status": {**claims, "phase": "Running"}}, fine, subresource="status")
    )


# --- Itself


def node(labels: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": "n1", "labels": labels or {}}, "spec": spec}


def test_another_node_is_not_its_business(plugin: NodeRestriction) -> None:
    assert why(plugin, by_node("nodes", node(), name="n2")) == (
        'node "n1" is not allowed to modify node "n2"'
    )
    ask(plugin, by_node("nodes", operation="DELETE", name="n1"))


@pytest.mark.parametrize(
    ("label", "allowed"),
    [
        ("kubernetes.io/hostname", True),
        ("topology.kubernetes.io/zone", True),
        ("node.kubernetes.io/anything", True),
        ("x.kubelet.kubernetes.io/anything", True),
        ("example.com/role", True),
        ("plain", True),
        ("node-restriction.kubernetes.io/x", False),
        ("team.node-restriction.kubernetes.io/x", False),
        ("node-role.kubernetes.io/control-plane", False),
        ("k8s.io/x", False),
        ("kubernetes.io/x", False),
        ("topology.kubernetes.io/other", False),
    ],
)
def test_labels_that_would_draw_work_are_reserved(plugin: NodeRestriction, label: str, allowed: bool) -> None:
    create = by_node("nodes", node({label: "x"}), name="n1")
    change = update("nodes", node({label: "x"}), node({label: "y"}), name="n1")
    remove = update("nodes", node(), node({label: "y"}), name="n1")
    if allowed:
        for attributes in (create, change, remove):
            ask(plugin, attributes)
        return
    assert why(plugin, create) == f'node "n1" is not allowed to set the following labels: {label}'
    assert why(plugin, change) == why(plugin, remove) == f"is not allowed to modify labels: {label}"
    ask(plugin, update("nodes", node({label: "x"}), node({label: "x"}), name="n1"))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (node(taints=[]), 'node "n1" is not allowed to modify taints'),
        (
            {**node(taints=[{"key": "k"}]), "metadata": {"ownerReferences": [{"name": "x"}]}},
            'node "n1" is not allowed to modify ownerReferences',
        ),
        (
            node(taints=[{"key": "k"}], configSource={}),
            'node "n1" is not allowed to update configSource to a new non-nil configSource',
        ),
    ],
)
def test_what_a_node_may_not_change_about_itself(plugin: NodeRestriction, new: Object, expected: str) -> None:
    assert why(plugin, update("nodes", new, node(taints=[{"key": "k"}]), name="n1")) == expected


def test_a_node_keeps_what_it_has(plugin: NodeRestriction) -> None:
    kept = node(taints=[{"key": "k"}], configSource={"a": "b"})
    kept["metadata"]["ownerReferences"] = [{"name": "x"}]
    ask(plugin, update("nodes", {**kept, "status": {"phase": "x"}}, kept, name="n1"))


def test_leases_and_csi_nodes_of_its_own(plugin: NodeRestriction) -> None:
    lease = {"group": "coordination.k8s.io", "namespace": "kube-node-lease"}
    ask(plugin, by_node("leases", {"metadata": {"name": "n1"}}, **lease))
    ask(plugin, by_node("leases", {}, operation="UPDATE", name="n1", **lease))
    for attributes in (
        by_node("leases", {"metadata": {"name": "n2"}}, **lease),
        by_node("leases", {}, operation="UPDATE", name="n2", **lease),
    ):
        assert refused(plugin, attributes).message.endswith(
            "can only access node lease with the same name as the requesting node"
        )
    elsewhere = by_node("leases", {"metadata": {"name": "n1"}}, group="coordination.k8s.io")
    assert refused(plugin, elsewhere).message.endswith(
        'can only access leases in the "kube-node-lease" system namespace'
    )
    ask(plugin, by_node("csinodes", {"metadata": {"name": "n1"}}, group="storage.k8s.io"))
    assert refused(plugin, by_node("csinodes", {"metadata": {"name": "n2"}}, group="storage.k8s.io"))


def test_resource_slices_of_its_own(plugin: NodeRestriction) -> None:
    group = {"group": "resource.k8s.io"}
    ask(plugin, by_node("resourceslices", {"spec": {"nodeName": "n1"}}, **group))
    assert refused(plugin, by_node("resourceslices", {"spec": {}}, **group)).message.endswith(
        "can only create ResourceSlice with the same NodeName as the requesting node"
    )
    delete = by_node("resourceslices", operation="DELETE", old={"spec": {"nodeName": "n2"}}, **group)
    assert refused(plugin, delete).message.endswith(
        "can only delete ResourceSlice with the same NodeName as the requesting node"
    )


def test_claims_only_report_their_size(plugin: NodeRestriction) -> None:
    old = {"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {}, "status": {"phase": "Bound"}}
    new = {**old, "metadata": {"name": "a"}, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    ask(plugin, update("persistentvolumeclaims", new, old, subresource="status"))
    lost = {**old, "status": {"phase": "Lost"}}
    assert why(plugin, update("persistentvolumeclaims", lost, old, subresource="status")).startswith(
        'node "n1" is not allowed to update fields other than status.quantity and status.conditions'
    )
    assert why(plugin, update("persistentvolumeclaims", new, old)) == "may only update PVC status"


# --- Credentials


def token(pod: str = "mine", uid: str = "u1", audiences: list[str] | None = None, **rest: Any) -> Attributes:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid} | rest
    spec = {"boundObjectRef": bound, "audiences": audiences or []}
    return by_node("serviceaccounts", {"spec": spec}, subresource="token", name="default")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (token(kind="Secret"), "node requested token not bound to a pod"),
        (token(uid=""), "node requested token with a pod binding without a uid"),
        (
            token(uid="x"),
            "the UID in the bound object reference (x) does not match the UID in record. The object might "
            "have been deleted and then recreated",
        ),
        (token("theirs", "u2"), "node requested token bound to a pod scheduled on a different node"),
        (token(audiences=["a", "b"]), "node may only request 0 or 1 audiences"),
        (
            token(audiences=["vault"]),
            'system:node:n1 is not authorized to request tokens for audience "vault"',
        ),
    ],
)
def test_tokens_are_for_pods_it_runs(plugin: NodeRestriction, attributes: Attributes, expected: str) -> None:
    assert why(plugin, attributes) == expected


def test_accounts_themselves_are_left_to_the_authorizer(plugin: NodeRestriction) -> None:
    ask(plugin, by_node("serviceaccounts", {}))
    ask(plugin, update("serviceaccounts", {}, {}, subresource="token"))


def add_volumes(stored: Stored, *volumes: Object) -> None:
    (pod,) = (pod for pod in stored.objects["", "pods"] if pod["metadata"]["name"] == "mine")
    pod["spec"]["volumes"] = [{"name": "v", **each} for each in volumes]


def test_tokens_have_an_audience_that_a_volume_names(stored: Stored, plugin: NodeRestriction) -> None:
    add_volumes(
        stored,
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"csi": {"driver": "d"}},
        {"persistentVolumeClaim": {"claimName": "data"}},
    )
    for name, audience in (("d", "vault"), ("e", "disk")):
        stored.add("storage.k8s.io", "csidrivers", name, spec={"tokenRequests": [{"audience": audience}]})
    stored.add("", "persistentvolumeclaims", "data", spec={"volumeName": "pv"})
    stored.add("", "persistentvolumes", "pv", spec={"csi": {"driver": "e"}})
    for audience in ([], ["vault"], ["disk"]):
        ask(plugin, token(audiences=audience))
    assert "not authorized" in why(plugin, token(audiences=["other"]))


def test_what_cannot_be_looked_up_is_said(stored: Stored, plugin: NodeRestriction) -> None:
    add_volumes(stored, {"csi": {"driver": "gone"}})
    assert why(plugin, token(audiences=["x"])) == (
        'error validating audience "x": csidriver.storage.k8s.io "gone" not found'
    )


def test_a_permission_opens_other_audiences(stored: Stored, plugin: NodeRestriction) -> None:
    may = NodeRestriction(stored, Allowing(("request-serviceaccounts-token-audience", "vault", "default")))
    ask(may, token(audiences=["vault"]))


def test_certificates_for_itself_only(plugin: NodeRestriction) -> None:
    def csr(name: str, signer: str = "kubernetes.io/kubelet-serving") -> Attributes:
        spec = {"signerName": signer, "request": request(name, "system:nodes")}
        return by_node("certificatesigningrequests", {"spec": spec}, group="certificates.k8s.io")

    ask(plugin, csr("system:node:n1"))
    ask(plugin, csr("other", "example.com/x"))
    assert refused(plugin, csr("system:node:n2")).message.endswith(
        "can only create a node CSR with CN=system:node:n1"
    )


def pod_certificate(**change: str) -> Attributes:
    spec = {
        "nodeName": "n1", "nodeUID": "node-uid", "podName": "mine", "podUID": "u1",
        "serviceAccountName": "sa", "serviceAccountUID": "sa-uid", "signerName": "example.com/x",
    }  # fmt: skip
    return by_node("podcertificaterequests", {"spec": spec | change}, group="certificates.k8s.io")


@pytest.mark.parametrize(
    ("change", "code", "expected"),
    [
        (
            {"nodeName": "n2"}, 403,
            'PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1"',
        ),
        (
            {"nodeUID": "x"}, 500,
            'PodCertificateRequest for pod "default/mine" names node UID "x", inconsistent with the running '
            'node ("node-uid")',
        ),
        (
            {"podName": "gone"}, 500,
            'while retrieving pod "default/gone" named in the PodCertificateRequest: pod "gone" not found',
        ),
        (
            {"podName": "theirs", "podUID": "u2"}, 403,
            'pod "default/theirs" is not running on node "n1" named in the PodCertificateRequest',
        ),
        (
            {"serviceAccountName": "x"}, 403,
            'PodCertificateRequest for pod "default/mine" contains serviceAccountName ("x") that differs from '
            'running pod ("sa")',
        ),
        (
            {"serviceAccountUID": "x"}, 500,
            'PodCertificateRequest for pod "default/mine" names service account UID "x", which differs from '
            'the running service account ("sa-uid")',
        ),
        (
            {"signerName": "example.com/y"}, 403,
            'pod "default/mine" does not mount a podCertificate projected volume for signer "example.com/y"',
        ),
    ],
)  # fmt: skip
def test_pod_certificates(
    stored: Stored, plugin: NodeRestriction, change: dict[str, str], code: int, expected: str
) -> None:
    stored.add("", "serviceaccounts", "sa", metadata={"uid": "sa-uid"})
    stored.objects["", "pods"][0]["spec"]["serviceAccountName"] = "sa"
    add_volumes(stored, {"projected": {"sources": [{"podCertificate": {"signerName": "example.com/x"}}]}})
    ask(plugin, pod_certificate())
    error = refused(plugin, pod_certificate(**change))
    assert error.code == code
    assert error.message.endswith(expected)


def test_interest(plugin: NodeRestriction) -> None:
    assert plugin.handles("DELETE", "", "pods", "")
    assert plugin.handles("CREATE", "", "serviceaccounts", "token")
    assert not plugin.handles("CREATE", "", "configmaps", "")
    assert not plugin.handles("CONNECT", "", "pods", "exec")
