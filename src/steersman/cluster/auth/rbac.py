"""The RBAC authorizer: roles and bindings.

The index holds the four RBAC kinds as they are in the store, updated within each commit (`follow`), bindings
by subject. The rules of a subject in a namespace are collected once (`_Grants`) and cached until any role or
binding changes; so is the answer for each resource and verb. A cached answer costs under a microsecond,
regardless of the object's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steersman.cluster.auth.authorization import Action, Decision
from steersman.cluster.auth.errors import RoleMissing
from steersman.cluster.auth.rules import RbacRule, rules_of
from steersman.cluster.auth.users import User, account_name
from steersman.cluster.store import Store, Subscription
from steersman.cluster.store_changes import follow_objects
from steersman.objects.fields import quote
from steersman.objects.kinds import Object

__all__ = ["GROUP", "RBAC", "RoleRef", "join_problems"]

GROUP = "rbac.authorization.k8s.io"

#: Remembered answers are dropped when there are more: a client may ask about anything.
_REMEMBERED = 4096
_NOTHING: dict[str, _Binding] = {}


class RoleRef(NamedTuple):
    """The role of a binding."""

    kind: str
    name: str
    group: str = GROUP

    @classmethod
    def of(cls, binding: Object) -> RoleRef:
        ref = binding.get("roleRef") or {}
        return cls(ref.get("kind", ""), ref.get("name", ""), ref.get("apiGroup", ""))


#: (kind, name) of a subject; service accounts are users by another name.
_Subject = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Binding:
    """A RoleBinding or ClusterRoleBinding."""

    name: str
    namespace: str
    role: RoleRef
    #: With the words for each subject, in the binding's order.
    subjects: tuple[tuple[_Subject, str], ...]

    @classmethod
    def of(cls, namespace: str, name: str, obj: Object) -> _Binding:
        subjects = []
        for subject in obj.get("subjects") or ():
            kind, subject_name = subject.get("kind", ""), subject.get("name", "")
            if kind == "ServiceAccount":
                home = subject.get("namespace") or namespace
                shown = f"{kind} {quote(f'{subject_name}/{home}')}"
                if home:
                    subjects.append((("User", account_name(home, subject_name)), shown))
            elif kind in ("User", "Group"):
                subjects.append(((kind, subject_name), f"{kind} {quote(subject_name)}"))
        return cls(name, namespace, RoleRef.of(obj), tuple(subjects))

    def reason(self, holders: frozenset[_Subject]) -> str:
        """Why a subject that is all of `holders` is allowed something by this binding."""
        subject = next(shown for subject, shown in self.subjects if subject in holders)
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        return (
            f"RBAC: allowed by {kind} {quote(name)} of {self.role.kind} {quote(self.role.name)} to {subject}"
        )


class _Answer(NamedTuple):
    """What is allowed for one verb and resource: all names, some names, both or nothing."""

    named: dict[str, _Binding]
    always: _Binding | None


class _Grants:
    """The rules of one subject in one namespace."""

    __slots__ = ("_answers", "holders", "problems", "rules")

    def __init__(self, holders: frozenset[_Subject]) -> None:
        self.holders = holders
        self.rules: list[tuple[RbacRule, _Binding]] = []
        #: Why some bindings give nothing.
        self.problems: list[str] = []
        self._answers: dict[tuple[str, str, str, str], _Answer] = {}

    def find(self, action: Action) -> _Binding | None:
        """The binding that allows the action, None when none does."""
        if action.path:
            return self._find_path(action)
        key = (action.verb, action.group, action.resource, action.subresource)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            answer = self._answers[key] = self._answer(*key)
        if answer.named:
            return answer.named.get(action.name) or answer.always
        return answer.always

    def _find_path(self, action: Action) -> _Binding | None:
        for rule, binding in self.rules:
            if rule.urls and rule.matches_path(action.verb, action.path):
                return binding
        return None

    def _answer(self, verb: str, group: str, resource: str, subresource: str) -> _Answer:
        named: dict[str, _Binding] = {}
        for rule, binding in self.rules:
            if not rule.matches_resource(verb, group, resource, subresource):
                continue
            if not rule.names:
                return _Answer(named, binding)
            for name in rule.names:
                named.setdefault(name, binding)
        return _Answer(named, None)


class RBAC:
    """The authorizer; also answers escalation checks and SelfSubjectRulesReviews."""

    def __init__(self) -> None:
        #: By (namespace, name); cluster roles have no namespace.
        self._roles: dict[tuple[str, str], tuple[RbacRule, ...]] = {}
        self._bindings: dict[tuple[str, str], _Binding] = {}
        #: namespace → subject → its bindings there by name; cluster-wide ones under "".
        self._by_subject: dict[str, dict[_Subject, dict[str, _Binding]]] = {}
        self._grants: dict[tuple[str, tuple[str, ...], str], _Grants] = {}

    def follow(self, store: Store) -> list[Subscription]:
        """Know what the store holds, from now on."""
        changes = (
            ("roles", self.change_role),
            ("clusterroles", self.change_role),
            ("rolebindings", self.change_binding),
            ("clusterrolebindings", self.change_binding),
        )
        return [follow_objects(store, f"/{GROUP}/{plural}/", change) for plural, change in changes]

    def change_role(self, namespace: str, name: str, role: Object | None) -> None:
        """A Role, or a ClusterRole when there is no namespace, is now this (None: gone)."""
        self._grants.clear()
        if role is None:
            self._roles.pop((namespace, name), None)
        else:
            self._roles[namespace, name] = rules_of(role)

    def change_binding(self, namespace: str, name: str, binding: Object | None) -> None:
        self._grants.clear()
        old = self._bindings.pop((namespace, name), None)
        index = self._by_subject.setdefault(namespace, {})
        for subject, _ in old.subjects if old is not None else ():
            held = index.get(subject)
            if held is not None and held.pop(name, None) is not None and not held:
                del index[subject]
        if binding is not None:
            new = self._bindings[namespace, name] = _Binding.of(namespace, name, binding)
            for subject, _ in new.subjects:
                index.setdefault(subject, {})[name] = new
        if not index:
            del self._by_subject[namespace]

    # Questions

    def allows(self, user: User, action: Action) -> bool:
        return self._of(user, action.namespace).find(action) is not None

    def decide(self, user: User, action: Action) -> Decision:
        grants = self._of(user, action.namespace)
        binding = grants.find(action)
        if binding is not None:
            return Decision(True, binding.reason(grants.holders))
        problems = grants.problems
        return Decision(False, f"RBAC: {join_problems(problems)}" if problems else "")

    def rules_for(self, user: User, namespace: str) -> tuple[list[RbacRule], list[str]]:
        """All rules a user has in a namespace, and what kept others from being found."""
        grants = self._of(user, namespace)
        return [rule for rule, _ in grants.rules], grants.problems

    def rules_of(self, ref: RoleRef, namespace: str) -> tuple[RbacRule, ...]:
        """The rules of the role that a binding in `namespace` refers to. Raises RoleMissing."""
        home = {"Role": namespace, "ClusterRole": ""}.get(ref.kind)
        rules = None if home is None else self._roles.get((home, ref.name))
        # A Role without a namespace would be looked up among the cluster roles.
        if rules is None or (ref.kind == "Role" and not namespace):
            raise RoleMissing(ref.kind, ref.name)
        return rules

    def _of(self, user: User, namespace: str) -> _Grants:
        groups = user.groups if type(user.groups) is tuple else tuple(user.groups)
        key = (user.name, groups, namespace)
        grants = self._grants.get(key)
        if grants is None:
            if len(self._grants) >= _REMEMBERED:
                self._grants.clear()
            grants = self._grants[key] = self._gather(user.name, groups, namespace)
        return grants

    def _gather(self, name: str, groups: Sequence[str], namespace: str) -> _Grants:
        holders = frozenset({("User", name), *(("Group", group) for group in groups)})
        grants = _Grants(holders)
        for scope in ("", namespace) if namespace else ("",):
            for binding in self._held(scope, holders):
                try:
                    rules = self.rules_of(binding.role, scope)
                except RoleMissing as problem:
                    grants.problems.append(str(problem))
                else:
                    grants.rules += ((rule, binding) for rule in rules)
        return grants

    def _held(self, scope: str, holders: frozenset[_Subject]) -> Iterator[_Binding]:
        index = self._by_subject.get(scope)
        if index is None:
            return
        found: dict[str, _Binding] = {}
        for subject in holders:
            found.update(index.get(subject, _NOTHING))
        for name in sorted(found):
            yield found[name]


def join_problems(problems: Sequence[str]) -> str:
    """Several errors as one, each said once."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
