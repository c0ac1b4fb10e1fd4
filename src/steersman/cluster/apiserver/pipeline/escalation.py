"""RBAC escalation prevention: a user cannot grant permissions that the user does not have.

Called with the object as it would be stored, after mutating admission and before validation. The verbs
`escalate` (on roles) and `bind` (on the role referred to) lift the check; system:masters need no lifting.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.cluster.auth.authorization import Action, Authorizer
from steersman.cluster.auth.errors import RoleMissing
from steersman.cluster.auth.rbac import GROUP, RBAC, RoleRef, join_problems
from steersman.cluster.auth.rules import FULL_AUTHORITY, RbacRule, describe, quote_list, rules_of, uncovered
from steersman.cluster.auth.users import MASTERS_GROUP, User
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.status import forbidden, not_found

__all__ = ["Escalation"]


_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
#: Where each kind of role is found; another kind is nothing one could be given the right to bind.
_PLURALS = {"Role": "roles", "ClusterRole": "clusterroles"}
#: What the garbage collector must be able to change whatever else the object says.
_COLLECTOR_FIELDS = ("ownerReferences", "finalizers", "selfLink", "managedFields")


class Escalation:
    def __init__(self, authorizer: Authorizer, rbac: RBAC) -> None:
        self._authorizer = authorizer
        self._rbac = rbac

    def check(self, user: User, action: Action, new: Object, old: Object | None) -> None:
        """Refuse (403) a write of a role or binding that would give away more than its writer has.

        `action` is the request's; `old` is None when the object is created. Other resources pass.
        """
        if action.group != GROUP or action.subresource or MASTERS_GROUP in user.groups:
            return
        if action.resource in _ROLES:
            self._check_role(user, action, new, old)
        elif action.resource in _BINDINGS:
            self._check_binding(user, action, new, old)

    def _check_role(self, user: User, action: Action, new: Object, old: Object | None) -> None:
        escalate = Action(
            "escalate", GROUP, "*", action.resource, namespace=action.namespace, name=action.name
        )
        if self._authorizer.allows(user, escalate) or _only_collector_fields(new, old):
            return
        name = new["metadata"].get("name", "")
        problem = self._missing(user, action.namespace, rules_of(new))
        if problem:
            raise forbidden(GROUP, action.resource, name, problem)
        if action.resource != "clusterroles" or not (_gathers(new) or (old is not None and _gathers(old))):
            return
        # It can gather anything, so only who has everything may set it.
        if self._missing(user, "", FULL_AUTHORITY):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise forbidden(GROUP, action.resource, name, why)

    def _check_binding(self, user: User, action: Action, new: Object, old: Object | None) -> None:
        if _only_collector_fields(new, old):
            return
        ref, namespace = RoleRef.of(new), action.namespace
        plural = _PLURALS.get(ref.kind)
        if plural is not None:
            bind = Action("bind", ref.group, "*", plural, namespace=namespace, name=ref.name)
            if self._authorizer.allows(user, bind):
                return
        try:
            rules = self._rbac.rules_of(ref, namespace)
        except RoleMissing as error:
            if plural is None:
                raise forbidden(GROUP, action.resource, new["metadata"].get("name", ""), str(error)) from None
            raise not_found(GROUP, action.resource, ref.name) from None
        problem = self._missing(user, namespace, rules)
        if problem:
            raise forbidden(GROUP, action.resource, new["metadata"].get("name", ""), problem)

    def _missing(self, user: User, namespace: str, wanted: Sequence[RbacRule]) -> str:
        """What the user would have to hold, empty when they hold it all."""
        held, problems = self._rbac.rules_for(user, namespace)
        lacking = uncovered(held, wanted)
        if not lacking:
            return ""
        text = (
            f"user {quote(user.name)} (groups={quote_list(user.groups)}) is attempting to grant RBAC "
            f"permissions not currently held:\n{describe(lacking)}"
        )
        return f"{text}; resolution errors: [{join_problems(problems)}]" if problems else text


def _gathers(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_collector_fields(new: Object, old: Object | None) -> bool:
    return old is not None and _without_collector_fields(new) == _without_collector_fields(old)


def _without_collector_fields(obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTOR_FIELDS}
    return {**obj, "metadata": metadata}
