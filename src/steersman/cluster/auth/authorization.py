"""May this user do that? The question, and the chain of those who answer.

An authorizer allows, or has no opinion; when nobody allows, the answer is no. Role-based rules are one
more authorizer in the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from steersman.cluster.auth.users import MASTERS_GROUP, User

__all__ = ["Action", "Authorizer", "AuthorizerChain", "HealthForAll", "Masters"]


class Action(NamedTuple):
    """What is about to happen. Resource requests have a verb on a resource, others a verb on a path."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    #: Set for requests that are not about resources (/version, /metrics, discovery).
    path: str = ""


class Authorizer(Protocol):
    def allows(self, user: User, action: Action) -> bool:
        """True to allow; False is no opinion."""


class Masters:
    """Members of system:masters may do everything."""

    def allows(self, user: User, action: Action) -> bool:
        return MASTERS_GROUP in user.groups


class HealthForAll:
    """Anyone, even anonymous, may ask whether the server is well and which version it is."""

    _PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})

    def allows(self, user: User, action: Action) -> bool:
        path = action.path
        if action.verb != "get":
            return False
        return path in self._PATHS or path.startswith(("/healthz/", "/livez/", "/readyz/"))


class AuthorizerChain:
    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def allows(self, user: User, action: Action) -> bool:
        return any(authorizer.allows(user, action) for authorizer in self._authorizers)


def refusal(user: User, action: Action) -> str:
    """Why not, in the words people search for."""
    if action.path:
        return f'User "{user.name}" cannot {action.verb} path "{action.path}"'
    resource = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    return (
        f'User "{user.name}" cannot {action.verb} resource "{resource}" in API group "{action.group}" {where}'
    )
