"""Authorization: the attributes of a request, and the chain of authorizers.

An authorizer allows, or has no opinion; without an allow the request is denied. Those that can give a reason
(`ExplainingAuthorizer`) do so for reviews and denials; `allows` is the cheap check of every request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from steersman.cluster.auth.users import MASTERS_GROUP, User
from steersman.objects.fields import quote
from steersman.objects.status import StatusError, forbidden

__all__ = [
    "Action",
    "Authorizer",
    "AuthorizerChain",
    "Decision",
    "ExplainingAuthorizer",
    "Masters",
    "denied",
    "refusal",
]


class Action(NamedTuple):
    """The attributes of a request (authorizer.Attributes). Resource requests have a verb on a resource,
    others a verb on a path.
    """

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    #: Set for requests that are not about resources (/version, /metrics, discovery).
    path: str = ""
    #: What a field selector demands to be equal: a narrower question than the whole collection.
    fields: tuple[tuple[str, str], ...] = ()


class Decision(NamedTuple):
    """Whether a request is allowed, and the reason."""

    allowed: bool
    #: Why, in Kubernetes' words; empty when there is nothing to say.
    reason: str = ""


NO_OPINION = Decision(False)


class Authorizer(Protocol):
    """Allows requests."""

    def allows(self, user: User, action: Action) -> bool:
        """True to allow; False is no opinion."""


@runtime_checkable
class ExplainingAuthorizer(Authorizer, Protocol):
    """An authorizer that gives reasons."""

    def decide(self, user: User, action: Action) -> Decision:
        """The same answer as `allows`, with its reason."""


class Masters:
    """The authorizer that allows everything to the group system:masters."""

    def allows(self, user: User, action: Action) -> bool:
        return MASTERS_GROUP in user.groups


class AuthorizerChain:
    """The authorizers of an API server, in order."""

    def __init__(self, authorizers: Mapping[str, Authorizer]) -> None:
        """In the order in which they are asked, by the names that are told with their reasons against."""
        self._names = tuple(authorizers)
        self._authorizers = tuple(authorizers.values())

    def allows(self, user: User, action: Action) -> bool:
        # A loop, not any(): a generator would cost more than the answer.
        for authorizer in self._authorizers:  # noqa: SIM110
            if authorizer.allows(user, action):
                return True
        return False

    def decide(self, user: User, action: Action) -> Decision:
        reasons = []
        for name, authorizer in zip(self._names, self._authorizers, strict=True):
            if not isinstance(authorizer, ExplainingAuthorizer):
                if authorizer.allows(user, action):
                    return Decision(True)
                continue
            decision = authorizer.decide(user, action)
            if decision.allowed:
                return decision
            if decision.reason:
                reasons.append(f"{name}: {decision.reason}")
        return Decision(False, "\n".join(reasons))


#: What a client sends is not echoed as something a browser could take for HTML.
_HARMLESS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def refusal(user: User, action: Action) -> str:
    """Why not, in the words people search for."""
    name = quote(user.name)
    if action.path:
        text = f"User {name} cannot {action.verb} path {quote(action.path)}"
    else:
        resource = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
        where = f"in the namespace {quote(action.namespace)}" if action.namespace else "at the cluster scope"
        text = (
            f"User {name} cannot {action.verb} resource {quote(resource)} in API group "
            f"{quote(action.group)} {where}"
        )
    return text.translate(_HARMLESS)


def denied(user: User, action: Action, reason: str = "") -> StatusError:
    """The 403 that answers an action nobody allows."""
    why = refusal(user, action)
    return forbidden(action.group, action.resource, action.name, f"{why}: {reason}" if reason else why)
