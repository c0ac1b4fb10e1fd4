"""Authentication and authorization of the kubelet API: client certificates of the cluster's CA, TokenReview
and SubjectAccessReview. Results are cached for a short time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, Generic, TypeVar

import orjson
from cryptography import x509

from steersman.client import Client, ClientError
from steersman.cluster.auth.authentication import CertificateAuthenticator
from steersman.cluster.auth.users import User
from steersman.http import Request

__all__ = ["AccessUnknown", "NodeApiAccess", "subresources", "verb_of"]

T = TypeVar("T")

_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105
_ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#: What was allowed a moment ago still is; what was not may have been granted since.
_ALLOWED_S: Final = 10.0
_REFUSED_S: Final = 2.0
_MOST: Final = 1024
_IDENTIFIED: Final = "steersman.node.user"

_VERBS: Final = {"POST": "create", "GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
#: Parts of the API that have a name of their own; `nodes/proxy` lets in there, too.
_FINE: Final = {"pods": "pods", "runningpods": "pods", "healthz": "healthz", "configz": "configz"}
#: Parts for which `nodes/proxy` is not enough.
_OWN: Final = {
    "stats": "stats",
    "metrics": "metrics",
    "logs": "log",
    "checkpoint": "checkpoint",
    "statusz": "statusz",
    "flagz": "configz",
}


class AccessUnknown(Exception):
    """The API server did not answer a TokenReview or SubjectAccessReview."""


def verb_of(method: str) -> str:
    return _VERBS.get(method, "")


def subresources(part: str) -> Iterator[str]:
    """Of which of a node's subresources a part of its API (the path's first segment) is; one that is allowed
    is enough."""
    if part in _OWN:
        yield _OWN[part]
        return
    if part in _FINE:
        yield _FINE[part]
    yield "proxy"


class _AnswerCache(Generic[T]):
    """Results that expire."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._answers: dict[Hashable, tuple[T, float]] = {}

    def get(self, key: Hashable) -> T | None:
        found = self._answers.get(key)
        return found[0] if found is not None and self._now() < found[1] else None

    def put(self, key: Hashable, answer: T, for_s: float) -> None:
        if len(self._answers) >= _MOST:
            self._answers.clear()
        self._answers[key] = (answer, self._now() + for_s)


class NodeApiAccess:
    """Authenticates and authorizes requests to the kubelet API."""

    def __init__(self, client: Client, client_ca: bytes, now: Callable[[], float]) -> None:
        """`client_ca` (PEM) vouches for certificates of clients; `now` is a monotonic clock."""
        self._client = client
        self._certificates = CertificateAuthenticator(x509.load_pem_x509_certificate(client_ca))
        self._users: _AnswerCache[User] = _AnswerCache(now)
        self._verdicts: _AnswerCache[bool] = _AnswerCache(now)

    async def user(self, request: Request) -> User | None:
        """Who it is; None for nobody we know."""
        state = request.connection.state
        if _IDENTIFIED not in state:
            der = request.connection.peer_certificate
            state[_IDENTIFIED] = None if der is None else self._certificates.authenticate(der)
        known: User | None = state[_IDENTIFIED]
        if known is not None:
            return known
        scheme, _, token = (request.headers.get("authorization") or "").strip().partition(" ")
        return await self._by_token(token.strip()) if scheme.lower() == "bearer" and token else None

    async def allows(self, user: User, method: str, node: str, subresource: str) -> bool:
        """Raises AccessUnknown."""
        verb = verb_of(method)
        key = (user.name, tuple(user.groups), verb, node, subresource)
        allowed = self._verdicts.get(key)
        if allowed is None:
            allowed = await self._review(user, verb, node, subresource)
            self._verdicts.put(key, allowed, _ALLOWED_S if allowed else _REFUSED_S)
        return allowed

    async def _by_token(self, token: str) -> User | None:
        key = hashlib.sha256(token.encode()).digest()
        user = self._users.get(key)
        if user is not None:
            return user
        try:
            status = await self._ask(_TOKEN_REVIEWS, "TokenReview", {"token": token})
        except ClientError:
            return None
        if not status.get("authenticated"):
            return None
        found = status.get("user") or {}
        user = User(
            found.get("username", ""),
            found.get("uid", ""),
            tuple(found.get("groups") or ()),
            found.get("extra") or {},
        )
        self._users.put(key, user, _ALLOWED_S)
        return user

    async def _review(self, user: User, verb: str, node: str, subresource: str) -> bool:
        spec: dict[str, Any] = {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {name: list(values) for name, values in user.extra.items()},
            "resourceAttributes": {
                "verb": verb,
                "version": "v1",
                "resource": "nodes",
                "subresource": subresource,
                "name": node,
            },
        }
        try:
            status = await self._ask(_ACCESS_REVIEWS, "SubjectAccessReview", spec)
        except ClientError as error:
            raise AccessUnknown(str(error)) from error
        return bool(status.get("allowed"))

    async def _ask(self, path: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        version = path.removeprefix("/apis/").rpartition("/")[0]
        review = {"apiVersion": version, "kind": kind, "metadata": {}, "spec": spec}
        answer = orjson.loads(await self._client.request("POST", path, body=review))
        status: dict[str, Any] = answer.get("status") or {}
        return status
