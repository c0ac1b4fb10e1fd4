"""Projected service account tokens: requested by TokenRequest, cached, and renewed in time.

A token is renewed when 80 % of its lifetime have passed, or after a day. If that fails the old one is used
until it expires. Tokens are never logged; those of an earlier process are read from their files.
"""

from __future__ import annotations

import logging
import random
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from steersman.aio import Clock
from steersman.client import Client, ClientError
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.objects.times import parse_time

__all__ = ["PodToken", "ProjectedTokenRequest", "Tokens"]

_log = logging.getLogger(__name__)

_LONGEST_S: Final = 86_400.0
_SHARE: Final = 0.8
#: Tokens that were made together are not all renewed together.
_JITTER_S: Final = 10.0
_DEFAULT_LIFE_S: Final = 3600
_RETRY_S: Final = 60.0


class ProjectedTokenRequest(NamedTuple):
    """The account, pod, audience and lifetime of a token."""

    namespace: str
    account: str
    pod: str
    uid: str
    audience: str = ""
    life_s: int = _DEFAULT_LIFE_S

    def body(self) -> dict[str, Any]:
        spec: dict[str, Any] = {
            "expirationSeconds": self.life_s,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": self.pod, "uid": self.uid},
        }
        if self.audience:
            spec["audiences"] = [self.audience]
        return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


@dataclass(slots=True, repr=False)
class PodToken:
    """A token and its times."""

    text: str
    expires_at: float
    renew_at: float


class Tokens:
    """The tokens of the pods of one node."""

    def __init__(self, client: Client, clock: Clock, rand: Callable[[], float] = random.random) -> None:
        self._client = client
        self._clock = clock
        self._rand = rand
        self._tokens: dict[ProjectedTokenRequest, PodToken] = {}

    async def get(self, request: ProjectedTokenRequest, known: bytes = b"") -> PodToken:
        """A good token; `known` is what the pod has now. Raises `VolumeProblem`."""
        token = self._tokens.get(request) or self._adopted(request, known)
        now = self._clock.wall()
        if token is not None and now < token.renew_at:
            return token
        try:
            token = await self._ask(request)
        except ClientError as error:
            if token is None:
                raise VolumeProblem(f"failed to fetch token: {error}") from error
            if now >= token.expires_at:
                raise VolumeProblem(f"token expired and refresh failed: {error}") from error
            _log.warning(
                "a token of pod %s/%s could not be renewed: %s", request.namespace, request.pod, error
            )
            token.renew_at = now + _RETRY_S
        self._tokens[request] = token
        return token

    def forget(self, uid: str) -> None:
        """A pod is over."""
        for request in [one for one in self._tokens if one.uid == uid]:
            del self._tokens[request]

    async def _ask(self, request: ProjectedTokenRequest) -> PodToken:
        path = f"/api/v1/namespaces/{request.namespace}/serviceaccounts/{request.account}/token"
        answer = orjson.loads(await self._client.request("POST", path, body=request.body()))
        status, life_s = answer["status"], answer["spec"]["expirationSeconds"]
        expires_at = parse_time(status["expirationTimestamp"]).timestamp()
        return self._token(status["token"], expires_at, life_s)

    def _token(self, text: str, expires_at: float, life_s: float) -> PodToken:
        early_s = self._rand() * min(_JITTER_S, life_s / 10)
        renew_at = min(expires_at - life_s * (1 - _SHARE), expires_at - life_s + _LONGEST_S) - early_s
        return PodToken(text, expires_at, renew_at)

    def _adopted(self, request: ProjectedTokenRequest, known: bytes) -> PodToken | None:
        """The token in a file, if it is what is asked for."""
        claims = _claims(known)
        bound = (claims.get("kubernetes.io") or {}).get("pod") or {}
        audiences = claims.get("aud") or []
        if bound.get("uid") != request.uid or (request.audience and request.audience not in audiences):
            return None
        expires_at, issued_at = claims.get("exp", 0), claims.get("iat", 0)
        return self._token(known.decode(), expires_at, max(expires_at - issued_at, 1))


def _claims(token: bytes) -> Mapping[str, Any]:
    """What a token says of itself; nothing if it is none."""
    _, _, rest = token.partition(b".")
    middle, dot, _ = rest.partition(b".")
    if not dot:
        return {}
    try:
        claims = orjson.loads(urlsafe_b64decode(middle + b"=" * (-len(middle) % 4)))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}
