"""The user of a request: name, uid, groups and extra (user.Info)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain

__all__ = [
    "ANONYMOUS",
    "AUTHENTICATED_GROUP",
    "MASTERS_GROUP",
    "NODES_GROUP",
    "NODE_PREFIX",
    "UNAUTHENTICATED_GROUP",
    "User",
    "account_groups",
    "account_name",
    "split_account_name",
    "user_info",
]

AUTHENTICATED_GROUP = "system:authenticated"
UNAUTHENTICATED_GROUP = "system:unauthenticated"
#: Members may do everything, whatever the authorizer's rules say.
MASTERS_GROUP = "system:masters"
NODES_GROUP = "system:nodes"
NODE_PREFIX = "system:node:"
_ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated user."""

    name: str
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED_GROUP,))


def user_info(user: User) -> dict[str, Any]:
    """The user as reviews, webhooks and the audit log show it (authentication.k8s.io/v1 UserInfo)."""
    info: dict[str, Any] = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def account_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{_ACCOUNT_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, str]:
    """The groups of every service account of a namespace."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def split_account_name(user_name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user name means; None when it means none."""
    if not user_name.startswith(_ACCOUNT_PREFIX):
        return None
    namespace, colon, name = user_name[len(_ACCOUNT_PREFIX) :].partition(":")
    if not colon or is_dns1123_label(namespace) or is_dns1123_subdomain(name):
        return None
    return namespace, name
