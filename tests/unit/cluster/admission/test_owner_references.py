"""Who may change the owners of objects, and block the owners' deletion."""

from __future__ import annotations

import pytest

from steersman.cluster.admission import OPTIONAL_PLUGINS, Attributes, build_chain
from steersman.cluster.admission.owner_references import OwnerReferencesPermissionEnforcement
from steersman.cluster.auth.authorization import Action, Decision
from steersman.cluster.auth.users import User
from steersman.cluster.schema.resources import GVK, ResourceType

from .conftest import Object, Stored, write
from .refusals import ask, why

WEBAPPS = ResourceType("example.com", "v1", "webapps", "WebApp", namespaced=True)
HOSTS = ResourceType("example.com", "v1", "hosts", "Host", namespaced=False)


class Allowing:
    def __init__(self, *allowed: Action, reason: str = "") -> None:
        self._allowed = allowed
        self._reason = reason

    def allows(self, user: User, action: Action) -> bool:
        return action in self._allowed

    def decide(self, user: User, action: Action) -> Decision:
        return Decision(self.allows(user, action), self._reason)


def plugin(*allowed: Action, reason: str = "") -> OwnerReferencesPermissionEnforcement:
    def resources_of(kind: GVK) -> list[ResourceType]:
        return [each for each in (WEBAPPS, HOSTS) if each.gvk == kind]

    return OwnerReferencesPermissionEnforcement(Allowing(*allowed, reason=reason), resources_of)


def owner(kind: str = "WebApp", name: str = "web", *, block: bool | None = None) -> Object:
    made: Object = {"apiVersion": "example.com/v1", "kind": kind, "name": name, "uid": f"uid-{name}"}
    return made if block is None else {**made, "blockOwnerDeletion": block}


def deployment(*owners: Object) -> Object:
    return {"metadata": {"ownerReferences": list(owners)} if owners else {}}


def creation(*owners: Object) -> Attributes:
    return write("deployments", deployment(*owners), group="apps")


def change(old: Object, new: Object) -> Attributes:
    return write("deployments", new, group="apps", operation="UPDATE", old=old)


DELETE = Action("delete", "apps", "v1", "deployments", "", "default", "a")
FINALIZE = Action("update", "example.com", "v1", "webapps", "finalizers", "default", "web")
FINALIZE_HOST = Action("update", "example.com", "v1", "hosts", "finalizers", "", "web")
FINALIZE_ANYTHING = Action("update", "*", "*", "*", "finalizers", "", "*")
BLOCKED = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: "
)
UNDELETABLE = "cannot set an ownerRef on a resource you can't delete: "


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param(creation(), id="no owner"),
        pytest.param(creation(owner()), id="a new object's owner"),
        pytest.param(creation(owner(block=False)), id="an owner that is not blocked"),
        pytest.param(change(deployment(owner(block=True)), deployment(owner(block=True))), id="no change"),
    ],
)
def test_it_needs_no_permission(attributes: Attributes) -> None:
    ask(plugin(), attributes)


@pytest.mark.parametrize(
    ("attributes", "needed", "message"),
    [
        pytest.param(creation(owner(block=True)), [FINALIZE], BLOCKED, id="a blocked owner"),
        pytest.param(creation(owner("Host", block=True)), [FINALIZE_HOST], BLOCKED, id="of the cluster"),
        pytest.param(creation(owner(block=True)), [FINALIZE_ANYTHING], BLOCKED, id="any finalizer"),
        pytest.param(change(deployment(), deployment(owner())), [DELETE], UNDELETABLE, id="an added owner"),
        pytest.param(change(deployment(owner()), deployment()), [DELETE], UNDELETABLE, id="a lost owner"),
        pytest.param(
            change(deployment(owner(block=False)), deployment(owner(block=True))),
            [DELETE, FINALIZE],
            UNDELETABLE,
            id="an owner that is blocked later",
        ),
        pytest.param(
            change(deployment(owner(block=True)), deployment(owner(block=True), owner(name="b"))),
            [DELETE],
            UNDELETABLE,
            id="another owner beside a blocked one",
        ),
    ],
)
def test_it_needs_permission(attributes: Attributes, needed: list[Action], message: str) -> None:
    ask(plugin(*needed), attributes)
    assert why(plugin(), attributes) == f"{message}, <nil>"
    assert why(plugin(reason="RBAC: why not"), attributes) == f"{message}RBAC: why not, <nil>"


def test_the_right_to_delete_is_not_that_to_block() -> None:
    attributes = change(deployment(), deployment(owner(block=True)))
    assert why(plugin(DELETE), attributes) == f"{BLOCKED}, <nil>"


def test_an_owner_of_an_unknown_kind_cannot_be_blocked() -> None:
    assert why(plugin(), creation(owner("Ghost", block=True))) == (
        "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion "
        'example.com/v1 Kind Ghost: no matches for kind "Ghost" in version "example.com/v1"'
    )


def test_the_status_of_a_pod_is_not_looked_at() -> None:
    assert not plugin().handles("UPDATE", "", "pods", "status")
    assert plugin().handles("UPDATE", "", "pods", "")
    assert not plugin().handles("DELETE", "", "pods", "")


def test_it_is_asked_only_where_it_is_enabled(stored: Stored) -> None:
    [name] = OPTIONAL_PLUGINS

    def names(**options: list[str]) -> list[str]:
        chain = build_chain(stored, authorizer=Allowing(), **options)  # type: ignore[arg-type]
        return [each.name for each in chain._plugins]

    assert name not in names()
    assert name in names(enabled=[name])
    assert name not in names(enabled=[name], disabled=[name])
