"""Impersonation: the Impersonate-* headers, and whether the user is allowed to impersonate.

There are several ways to be allowed it, tried in this order; the first that applies and allows wins:

    associated-node   a pod's service account acts as the node it runs on
    arbitrary-node    acting as any node
    serviceaccount    acting as a service account
    user-info         acting as any other user
    (legacy)          the verb `impersonate`, on whatever is asked for, for any request

All but the last need two rights: `impersonate:WAY` on who one wants to be, and `impersonate-on:WAY:VERB` on
what the request does. A refusal gives the first way's reason. What a user was last allowed by is tried
before all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote

from steersman.cluster.auth.authorization import Action, AuthorizerChain, denied
from steersman.cluster.auth.users import (
    ANONYMOUS,
    AUTHENTICATED_GROUP,
    MASTERS_GROUP,
    NODE_PREFIX,
    NODES_GROUP,
    UNAUTHENTICATED_GROUP,
    User,
    account_groups,
    split_account_name,
)
from steersman.objects.fields import quote
from steersman.objects.names import is_dns1123_subdomain, is_domain_prefixed_path
from steersman.objects.status import StatusError, bad_request

__all__ = ["Impersonation", "wanted_user"]

_USER, _UID, _GROUP, _EXTRA = (
    "impersonate-user",
    "impersonate-uid",
    "impersonate-group",
    "impersonate-extra-",
)
_AUTHENTICATION = "authentication.k8s.io"
_NODE_NAME = "authentication.kubernetes.io/node-name"
#: Users whose ways are remembered.
_REMEMBERED = 10_000
#: From so many values on, the right to all of them is asked for first.
_MANY = 4


def wanted_user(headers: Iterable[tuple[str, str]]) -> User | None:
    """The user that the headers name; None when they name none. Raises 400."""
    first: dict[str, str] = {}
    groups: list[str] = []
    extra: dict[str, list[str]] = {}
    for header, value in headers:
        if not header.startswith("impersonate-"):
            continue
        if header in (_USER, _UID):
            first.setdefault(header, value)
        elif header == _GROUP:
            groups.append(value)
        elif header.startswith(_EXTRA):
            extra.setdefault(_extra_key(header), []).append(value)
    name, uid = first.get(_USER, ""), first.get(_UID, "")
    if not name and (uid or groups or extra):
        raise bad_request(f"requested {_go_user(uid, groups, extra)} without impersonating a user name")
    return User(name, uid, tuple(groups), extra) if name else None


def _extra_key(header: str) -> str:
    """Keys are percent-encoded where a header's name could not hold them."""
    return unquote(header[len(_EXTRA) :], errors="replace")


def _go_user(uid: str, groups: Sequence[str], extra: Mapping[str, Sequence[str]]) -> str:
    """Go's %#v of the user that was asked for, which the message shows."""

    def shown(values: Sequence[str]) -> str:
        return "[]string{" + ", ".join(map(quote, values)) + "}"

    pairs = ", ".join(f"{quote(key)}:{shown(extra[key])}" for key in sorted(extra))
    return (
        f'&user.DefaultInfo{{Name:"", UID:{quote(uid)}, '
        f"Groups:{shown(groups) if groups else '[]string(nil)'}, "
        f"Extra:{'map[string][]string{' + pairs + '}' if extra else 'map[string][]string(nil)'}}}"
    )


class Impersonation:
    """Who may act as whom; remembers the ways that people took."""

    def __init__(self, authorizer: AuthorizerChain) -> None:
        self._authorizer = authorizer
        #: By user name, the latest last.
        self._taken: dict[str, _Way] = {}

    def acting(self, user: User, wanted: User, action: Action) -> User:
        """The user to go on as, when `user` may be `wanted` for this action. Raises 403."""
        first: StatusError | None = None
        taken = self._taken.get(user.name)
        ways = _WAYS if taken is None else (taken, *(way for way in _WAYS if way is not taken))
        for way in ways:
            if not way.applies(wanted, user):
                continue
            try:
                acting = _Check(self._authorizer, way, user).run(wanted, action)
            except StatusError as error:
                first = first or error
                continue
            if way is not taken:
                self._remember(user.name, way)
            return acting
        assert first is not None  # the last way always applies
        raise first

    def _remember(self, name: str, way: _Way) -> None:
        self._taken.pop(name, None)
        self._taken[name] = way
        if len(self._taken) > _REMEMBERED:
            del self._taken[next(iter(self._taken))]


class _Way(NamedTuple):
    name: str
    applies: Callable[[User, User], bool]

    @property
    def constrained(self) -> bool:
        return bool(self.name)

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _name_only(user: User) -> bool:
    return not (user.uid or user.groups or user.extra)


def _node_name(name: str) -> str:
    node = name[len(NODE_PREFIX) :] if name.startswith(NODE_PREFIX) else ""
    return "" if not node or is_dns1123_subdomain(node) else node


def _own_node(wanted: User, user: User) -> bool:
    node = _node_name(wanted.name)
    return (
        bool(node)
        and _name_only(wanted)
        and split_account_name(user.name) is not None
        and list(user.extra.get(_NODE_NAME, ())) == [node]
    )


_WAYS = (
    _Way("associated-node", _own_node),
    _Way("arbitrary-node", lambda wanted, _: _name_only(wanted) and bool(_node_name(wanted.name))),
    _Way(
        "serviceaccount",
        lambda wanted, _: _name_only(wanted) and split_account_name(wanted.name) is not None,
    ),
    _Way(
        "user-info",
        lambda wanted, _: not _node_name(wanted.name) and split_account_name(wanted.name) is None,
    ),
    _Way("", lambda *_: True),
)


class _Check:
    """One way tried for one request."""

    def __init__(self, authorizer: AuthorizerChain, way: _Way, user: User) -> None:
        self._authorizer = authorizer
        self._way = way
        self._user = user
        #: Users and groups are of the core group for the old verb.
        self._group = _AUTHENTICATION if way.constrained else ""

    def run(self, wanted: User, action: Action) -> User:
        way = self._way
        if way.constrained:
            self._require(action._replace(verb=f"impersonate-on:{way.name}:{action.verb}"))
        groups = self._require_name(wanted)
        if wanted.uid:
            self._require(Action(way.verb, _AUTHENTICATION, "v1", "uids", name=wanted.uid))
        self._require_groups(wanted.groups)
        self._require_extra(wanted.extra)
        if wanted.name == ANONYMOUS.name:
            groups = _with(groups, UNAUTHENTICATED_GROUP)
        elif UNAUTHENTICATED_GROUP not in groups:
            groups = _with(groups, AUTHENTICATED_GROUP)
        return replace(wanted, groups=groups)

    def _require(self, action: Action) -> None:
        decision = self._authorizer.decide(self._user, action)
        if not decision.allowed:
            raise denied(self._user, action, decision.reason)

    def _holds(self, action: Action) -> bool:
        return self._authorizer.allows(self._user, action)

    def _require_name(self, wanted: User) -> tuple[str, ...]:
        """Check the right to the name; the groups that come with it unless others are asked for."""
        groups = tuple(wanted.groups)
        action = Action(self._way.verb, self._group, "v1", "users", name=wanted.name)
        node = _node_name(wanted.name) if self._way.constrained else ""
        if node:
            asked = "*" if self._way.name == "associated-node" else node
            action = action._replace(resource="nodes", name=asked)
            groups = (NODES_GROUP,)
        elif (account := split_account_name(wanted.name)) is not None:
            namespace, name = account
            action = action._replace(resource="serviceaccounts", namespace=namespace, name=name)
            groups = groups or account_groups(namespace)
        self._require(action)
        return groups

    def _require_groups(self, groups: Sequence[str]) -> None:
        action = Action(self._way.verb, self._group, "v1", "groups")
        if self._way.constrained and groups:
            if "" in groups:
                raise denied(self._user, action, "impersonating the empty string group is not allowed")
            if MASTERS_GROUP in groups:
                why = "impersonating the system:masters group is not allowed"
                raise denied(self._user, action._replace(name=MASTERS_GROUP), why)
            if len(groups) >= _MANY and self._holds(action._replace(name="*")):
                return
        for group in groups:
            self._require(action._replace(name=group))

    def _require_extra(self, extra: Mapping[str, Sequence[str]]) -> None:
        action = Action(self._way.verb, _AUTHENTICATION, "v1", "userextras")
        if self._way.constrained and extra:
            if problem := _extra_problem(extra):
                raise denied(self._user, action, problem)
            many = sum(max(1, len(values)) for values in extra.values()) >= _MANY
            if many and self._holds(action._replace(subresource="*", name="*")):
                return
        for key, values in extra.items():
            for value in values:
                self._require(action._replace(subresource=key, name=value))


def _extra_problem(extra: Mapping[str, Sequence[str]]) -> str:
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if problems := is_domain_prefixed_path(key):
            shown = ", ".join(f"extra.key: Invalid value: {quote(key)}: {problem}" for problem in problems)
            return f"impersonating an invalid key in extra is not allowed: {shown}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _with(groups: tuple[str, ...], group: str) -> tuple[str, ...]:
    return groups if group in groups else (*groups, group)
