"""What a node may do: read what its pods need, write what is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
import pytest

from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.node_graph import NodeGraph
from steersman.cluster.auth.nodes import NodeAuthorizer, node_of
from steersman.cluster.auth.rules import RbacRule
from steersman.cluster.auth.users import User
from steersman.cluster.store.memory import MemoryStore

Object = dict[str, Any]

NODE = User("system:node:n1", groups=("system:nodes", "system:authenticated"))
RULES = (
    RbacRule(("get", "list", "watch"), ("",), ("services",)),
    RbacRule(("create",), ("authorization.k8s.io",), ("subjectaccessreviews",)),
)


class World:
    def __init__(self) -> None:
        self.store = MemoryStore()
        self.graph = NodeGraph()
        self.graph.follow(self.store)
        self.authorizer = NodeAuthorizer(self.graph, RULES)

    async def put(self, key: str, obj: Object) -> None:
        await self.store.put(key, orjson.dumps(obj))

    async def pod(self, name: str, node: str = "n1", spec: Object | None = None, **more: Any) -> None:
        metadata = {"name": name, "namespace": "ns"} | more.pop("metadata", {})
        bound = {"nodeName": node} if node else {}
        await self.put(
            f"/core/pods/ns/{name}", {"metadata": metadata, "spec": {**(spec or {}), **bound}, **more}
        )

    def may(self, verb: str, resource: str, name: str = "x", **more: Any) -> bool:
        group, _, plural = resource.rpartition("/")
        action = Action(verb, group, "v1", plural, namespace=more.pop("namespace", "ns"), name=name, **more)
        decision = self.authorizer.decide(NODE, action)
        assert self.authorizer.allows(NODE, action) is decision.allowed
        return decision.allowed

    def why(self, *args: Any, **more: Any) -> str:
        return self.authorizer.decide(NODE, Action(*args, **more)).reason


def in_world(test: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        async def body() -> None:
            world = World()
            await test(world)
            await world.store.close()

        asyncio.run(body())

    run.__name__ = test.__name__
    return run


@pytest.mark.parametrize(
    ("user", "node"),
    [
        (NODE, "n1"),
        (User("system:node:n1", groups=("system:authenticated",)), None),
        (User("n1", groups=("system:nodes",)), None),
        (User("system:nodes:n1", groups=("system:nodes",)), None),
        (User("system:node:", groups=("system:nodes",)), ""),
    ],
    ids=str,
)
def test_who_is_a_node(user: User, node: str | None) -> None:
    assert node_of(user) == node
    if node != "n1":
        assert not NodeAuthorizer(NodeGraph(), RULES).allows(user, Action("get", "", "v1", "services"))


VOLUMES = [
    {"name": "a", "secret": {"secretName": "s-volume"}},
    {"name": "b", "configMap": {"name": "c-volume"}},
    {"name": "c", "projected": {"sources": [{"secret": {"name": "s-projected"}}, {"configMap": {"name": "c-projected"}}]}},
    {"name": "d", "persistentVolumeClaim": {"claimName": "claim"}},
    {"name": "e", "ephemeral": {}},
    {"name": "f", "csi": {"nodePublishSecretRef": {"name": "s-csi"}}},
    {"name": "g", "azureFile": {"secretName": "s-azure"}},
    {"name": "h", "emptyDir": {}},
]  # fmt: skip
SPEC: Object = {
    "serviceAccountName": "bot",
    "imagePullSecrets": [{"name": "s-pull"}],
    "containers": [
        {
            "envFrom": [{"secretRef": {"name": "s-from"}}, {"configMapRef": {"name": "c-from"}}],
            "env": [
                {"valueFrom": {"secretKeyRef": {"name": "s-key"}}},
                {"valueFrom": {"configMapKeyRef": {"name": "c-key"}}},
                {"value": "plain"},
            ],
        }
    ],
    "initContainers": [{"envFrom": [{"secretRef": {"name": "s-init"}}]}],
    "ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "c-debug"}}]}],
    "volumes": VOLUMES,
    "resourceClaims": [{"name": "given", "resourceClaimName": "r-given"}, {"name": "made"}],
}
STATUS = {"resourceClaimStatuses": [{"name": "made", "resourceClaimName": "r-made"}]}
RELATED = [
    *(
        ("secrets", f"s-{name}")
        for name in ("volume", "projected", "csi", "azure", "pull", "from", "key", "init")
    ),
    *(("configmaps", f"c-{name}") for name in ("volume", "projected", "from", "key", "debug")),
    ("persistentvolumeclaims", "claim"),
    ("persistentvolumeclaims", "pod-e"),
    ("serviceaccounts", "bot"),
    ("pods", "pod"),
    ("resource.k8s.io/resourceclaims", "r-given"),
    ("resource.k8s.io/resourceclaims", "r-made"),
]


@pytest.mark.parametrize(("resource", "name"), RELATED, ids=lambda part: part)
def test_a_node_reads_what_its_pod_mentions_while_it_is_there(resource: str, name: str) -> None:
    async def body() -> None:
        world = World()
        assert not world.may("get", resource, name)
        await world.pod("pod", "", SPEC, status=STATUS)
        assert not world.may("get", resource, name)
        await world.pod("pod", "n2", SPEC, status=STATUS)
        assert not world.may("get", resource, name)
        await world.pod("pod", "n1", SPEC, status=STATUS)
        assert world.may("get", resource, name)
        assert not world.may("get", resource, name, namespace="other")
        assert not world.may("get", resource, "other")
        for verb in ("update", "patch", "delete", "deletecollection"):
            if (resource, verb) != ("pods", "delete"):
                assert not world.may(verb, resource, name), verb
        await world.store.delete("/core/pods/ns/pod")
        assert not world.may("get", resource, name)
        await world.store.close()

    asyncio.run(body())


@in_world
async def test_secrets_are_read_one_by_one(world: World) -> None:
    await world.pod("pod", spec=SPEC)
    for verb in ("get", "list", "watch"):
        assert world.may(verb, "secrets", "s-pull")
        assert not world.may(verb, "secrets", "")
        assert not world.may(verb, "secrets", "s-pull", namespace="")
    assert not world.may("get", "secrets", "s-pull", subresource="x")


@in_world
async def test_two_pods_share_a_secret_until_the_last_goes(world: World) -> None:
    await world.pod("a", spec=SPEC)
    await world.pod("b", spec=SPEC)
    assert world.may("get", "secrets", "s-pull")
    await world.store.delete("/core/pods/ns/a")
    assert world.may("get", "secrets", "s-pull")
    await world.store.delete("/core/pods/ns/b")
    assert not world.may("get", "secrets", "s-pull")
    assert not world.graph._nodes


@in_world
async def test_a_mirror_pod_opens_nothing(world: World) -> None:
    await world.pod("pod", spec=SPEC, metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    assert world.may("get", "pods", "pod")
    assert not world.may("get", "secrets", "s-pull")
    assert not world.may("create", "serviceaccounts", "bot", subresource="token")


@in_world
async def test_tokens_of_its_pods_accounts(world: World) -> None:
    await world.pod("pod", spec=SPEC)
    assert world.may("create", "serviceaccounts", "bot", subresource="token")
    assert not world.may("create", "serviceaccounts", "other", subresource="token")
    assert not world.may("create", "serviceaccounts", "", subresource="token")
    assert not world.may("create", "serviceaccounts", "bot")
    assert not world.may("delete", "serviceaccounts", "bot", subresource="token")
    assert not world.may("get", "serviceaccounts", "bot", subresource="token")
    assert not world.may("create", "serviceaccounts", "bot", namespace="other", subresource="token")


@in_world
async def test_the_status_of_its_pods_claims(world: World) -> None:
    await world.pod("pod", spec=SPEC)
    for verb, allowed in {"update": True, "patch": True, "get": False, "delete": False}.items():
        assert world.may(verb, "persistentvolumeclaims", "claim", subresource="status") is allowed
    assert not world.may("update", "persistentvolumeclaims", "other", subresource="status")


@in_world
async def test_volumes_and_their_secrets_through_the_claim(world: World) -> None:
    spec = {
        "claimRef": {"namespace": "ns", "name": "claim"},
        "csi": {"nodeStageSecretRef": {"name": "stage", "namespace": "vault"},
                "controllerPublishSecretRef": {"name": "control", "namespace": "vault"}},
        "azureFile": {"secretName": "azure"},
    }  # fmt: skip
    await world.put("/core/persistentvolumes/pv", {"metadata": {"name": "pv"}, "spec": spec})
    assert not world.may("get", "persistentvolumes", "pv", namespace="")
    await world.pod("pod", spec=SPEC)
    assert world.may("get", "persistentvolumes", "pv", namespace="")
    assert not world.may("list", "persistentvolumes", "pv", namespace="")
    assert world.may("get", "secrets", "stage", namespace="vault")
    assert world.may("get", "secrets", "azure")
    assert not world.may("get", "secrets", "control", namespace="vault")
    await world.store.delete("/core/persistentvolumes/pv")
    assert not world.may("get", "persistentvolumes", "pv", namespace="")
    assert not world.may("get", "secrets", "stage", namespace="vault")


@in_world
async def test_two_volumes_share_a_secret_until_the_last_goes(world: World) -> None:
    await world.pod("pod", spec=SPEC)
    for name in ("one", "two"):
        spec = {"claimRef": {"namespace": "ns", "name": "claim"}, "azureFile": {"secretName": "azure"}}
        await world.put(f"/core/persistentvolumes/{name}", {"metadata": {"name": name}, "spec": spec})
    for name, allowed in (("one", True), ("two", False)):
        assert world.may("get", "secrets", "azure")
        await world.store.delete(f"/core/persistentvolumes/{name}")
        assert world.may("get", "secrets", "azure") is allowed
    assert not world.graph._secret_volumes


@in_world
async def test_objects_that_name_their_node(world: World) -> None:
    for key, resource, namespace in (
        ("/storage.k8s.io/volumeattachments/x", "storage.k8s.io/volumeattachments", ""),
        ("/resource.k8s.io/resourceslices/x", "resource.k8s.io/resourceslices", ""),
        (
            "/certificates.k8s.io/podcertificaterequests/ns/x",
            "certificates.k8s.io/podcertificaterequests",
            "ns",
        ),
    ):
        assert not world.may("get", resource, namespace=namespace)
        await world.put(key, {"metadata": {}, "spec": {"nodeName": "n2"}})
        assert not world.may("get", resource, namespace=namespace)
        await world.put(key, {"metadata": {}, "spec": {"nodeName": "n1"}})
        assert world.may("get", resource, namespace=namespace)
        await world.store.delete(key)
        assert not world.may("get", resource, namespace=namespace)


@in_world
async def test_pods_that_came_and_went_unseen_leave_nothing(world: World) -> None:
    for number in range(20):
        await world.pod(f"p{number}", spec=SPEC)
        await world.store.delete(f"/core/pods/ns/p{number}")
    assert not world.graph._pending


ON_N1 = (("spec.nodeName", "n1"),)
OWN = [
    ("get", "nodes", "n1", {}, True),
    ("get", "nodes", "n2", {}, False),
    ("list", "nodes", "", {}, False),
    ("watch", "nodes", "n1", {}, True),
    ("create", "nodes", "", {}, True),
    ("patch", "nodes", "n1", {"subresource": "status"}, True),
    ("delete", "nodes", "n1", {}, False),
    ("get", "nodes", "n1", {"subresource": "proxy"}, False),
    ("list", "pods", "", {}, False),
    ("list", "pods", "", {"fields": ON_N1}, True),
    ("watch", "pods", "", {"fields": (("spec.nodeName", "n2"),)}, False),
    ("create", "pods", "", {}, True),
    ("delete", "pods", "p", {}, True),
    ("patch", "pods", "p", {}, False),
    ("patch", "pods", "p", {"subresource": "status"}, True),
    ("create", "pods", "p", {"subresource": "eviction"}, True),
    ("create", "pods", "p", {"subresource": "exec"}, False),
    ("get", "pods", "p", {"subresource": "log"}, False),
    ("get", "coordination.k8s.io/leases", "n1", {"namespace": "kube-node-lease"}, True),
    ("get", "coordination.k8s.io/leases", "n2", {"namespace": "kube-node-lease"}, False),
    ("get", "coordination.k8s.io/leases", "n1", {"namespace": "kube-system"}, False),
    ("list", "coordination.k8s.io/leases", "n1", {"namespace": "kube-node-lease"}, False),
    ("create", "coordination.k8s.io/leases", "", {"namespace": "kube-node-lease"}, True),
    ("update", "storage.k8s.io/csinodes", "n1", {}, True),
    ("update", "storage.k8s.io/csinodes", "n2", {}, False),
    ("list", "storage.k8s.io/csinodes", "", {}, False),
    ("patch", "storage.k8s.io/csinodes", "n1", {"subresource": "status"}, False),
    ("create", "resource.k8s.io/resourceslices", "", {}, True),
    ("list", "resource.k8s.io/resourceslices", "", {"fields": ON_N1}, True),
    ("deletecollection", "resource.k8s.io/resourceslices", "", {}, False),
    ("create", "certificates.k8s.io/podcertificaterequests", "", {}, True),
    ("watch", "certificates.k8s.io/podcertificaterequests", "", {"fields": ON_N1}, True),
    ("watch", "certificates.k8s.io/podcertificaterequests", "", {}, False),
    ("delete", "certificates.k8s.io/podcertificaterequests", "x", {}, False),
    ("patch", "persistentvolumeclaims", "x", {"subresource": "status"}, False),
    ("list", "services", "", {}, True),
    ("create", "services", "", {}, False),
    ("create", "authorization.k8s.io/subjectaccessreviews", "", {}, True),
    ("list", "apps/deployments", "", {}, False),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "resource", "name", "more", "allowed"), OWN, ids=str)
def test_what_is_its_own(verb: str, resource: str, name: str, more: Object, allowed: bool) -> None:
    @in_world
    async def body(world: World) -> None:
        assert world.may(verb, resource, name, **more) is allowed

    body()


@in_world
async def test_the_refusals_say_why(world: World) -> None:
    assert world.why("list", "", "v1", "nodes") == "node 'n1' cannot read all nodes, only its own Node object"
    assert (
        world.why("get", "", "v1", "nodes", name="n2")
        == "node 'n1' cannot read 'n2', only its own Node object"
    )
    assert world.why("get", "", "v1", "secrets", namespace="ns", name="x") == (
        "no relationship found between node 'n1' and this object"
    )
    assert world.why("list", "", "v1", "secrets", namespace="ns") == "No Object name found"
    assert world.why("create", "", "v1", "serviceaccounts", namespace="ns", name="x") == (
        "can only create token subresource of serviceaccount"
    )
    assert world.why("get", "", "v1", "serviceaccounts", "token", namespace="ns", name="x") == (
        "can only create tokens for individual service accounts"
    )
    assert world.why("list", "", "v1", "pods") == "can only list/watch pods with spec.nodeName field selector"
