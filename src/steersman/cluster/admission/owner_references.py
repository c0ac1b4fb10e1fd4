"""The OwnerReferencesPermissionEnforcement plugin: permissions to change metadata.ownerReferences.

Disabled by default, as in Kubernetes; OpenShift enables it. Changing the owners of an existing object needs
the permission to delete it; blockOwnerDeletion needs `update` on the owner's `finalizers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.auth.authorization import Action, Authorizer, ExplainingAuthorizer
from steersman.cluster.schema.resources import GVK, ResourceType
from steersman.objects.fields import quote
from steersman.objects.kinds import Object

__all__ = ["OwnerReferencesPermissionEnforcement", "ResourcesOf"]

#: The served resources of a kind in a version.
ResourcesOf = Callable[[GVK], Sequence[ResourceType]]

_ANYTHING: Final = Action("update", "*", "*", "*", "finalizers", name="*")


class OwnerReferencesPermissionEnforcement:
    name = "OwnerReferencesPermissionEnforcement"

    def __init__(self, authorizer: Authorizer, resources_of: ResourcesOf) -> None:
        self._authorizer = authorizer
        self._resources_of = resources_of

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        # The status of a pod cannot change its owners, and old kubelets sent wrong ones.
        pod_status = (group, plural, subresource) == ("", "pods", "status")
        return operation in ("CREATE", "UPDATE") and not pod_status

    def admit(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> None:
        owners, before = _owners(attributes.object), _owners(attributes.old)
        if owners == before or attributes.object_kind is not None:
            return
        if attributes.operation != "CREATE":
            # Who creates an object might as well not have; who changes one must have power over it.
            kind = attributes.group, attributes.version, attributes.plural, attributes.subresource
            self._demand(
                attributes,
                Action("delete", *kind, attributes.namespace, attributes.name),
                "cannot set an ownerRef on a resource you can't delete",
            )
        blocking = _newly_blocking(owners, before)
        if not blocking or self._authorizer.allows(attributes.user, _ANYTHING):
            return
        for action in self._finalizing(attributes, blocking):
            self._demand(
                attributes,
                action,
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set "
                "finalizers on",
            )

    def _finalizing(self, attributes: Attributes, owners: Sequence[Object]) -> Iterator[Action]:
        """What blocking the deletion of owners amounts to."""
        for owner in owners:
            api_version, kind = owner["apiVersion"], owner["kind"]
            resources = self._resources_of(GVK.of(api_version, kind))
            if not resources:
                raise attributes.refusal(
                    "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
                    f"APIVersion {api_version} Kind {kind}: no matches for kind {quote(kind)} "
                    f"in version {quote(api_version)}"
                )
            for each in resources:
                # An owner with a namespace is in that of its dependents.
                namespace = attributes.namespace if each.namespaced else ""
                yield Action(
                    "update", each.group, each.version, each.plural, "finalizers", namespace, owner["name"]
                )

    def _demand(self, attributes: Attributes, action: Action, why: str) -> None:
        authorizer, reason = self._authorizer, ""
        if authorizer.allows(attributes.user, action):
            return
        if isinstance(authorizer, ExplainingAuthorizer):
            reason = authorizer.decide(attributes.user, action).reason
        # What Go writes for "and no error".
        raise attributes.refusal(f"{why}: {reason}, <nil>")


def _owners(obj: Object | None) -> list[Object]:
    return [] if obj is None else obj["metadata"].get("ownerReferences") or []


def _newly_blocking(owners: Sequence[Object], before: Sequence[Object]) -> list[Object]:
    blocked = {owner["uid"] for owner in before if owner.get("blockOwnerDeletion")}
    return [owner for owner in owners if owner.get("blockOwnerDeletion") and owner["uid"] not in blocked]
