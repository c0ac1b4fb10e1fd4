"""Authentication of a request: client certificate, bearer token, or anonymous.

A certificate and a static token are verified once per connection. Any other token is verified with every
request: it may expire, or lose its service account, while the connection lives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steersman.cluster.auth.authentication import Authentication, InvalidCredentials
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import ANONYMOUS, User
from steersman.cluster.auth.websocket_tokens import authorization_of
from steersman.http import Request
from steersman.objects.status import unauthorized

__all__ = ["RequestAuthentication"]

_NO_STATIC: Mapping[str | None, User] = {}


class RequestAuthentication:
    def __init__(self, authentication: Authentication, refuse: Callable[[Request, Action], None]) -> None:
        """`refuse` records a request whose credentials are wrong."""
        self._authentication = authentication
        self._refuse = refuse

    def user_of(self, request: Request, action: Action) -> User:
        """The user that a request is made by. Raises 401."""
        state = request.connection.state
        certificate: tuple[User | None, bool] | None = state.get("certificate")
        if certificate is None:
            der = request.connection.peer_certificate
            user = self._authentication.by_certificate(der) if der else None
            certificate = state["certificate"] = (user, bool(der) and user is None)
        user, is_bad = certificate
        if user is not None:
            return user
        header = request.headers.get("authorization")
        if header is None and request.upgradable:
            header = self._websocket_token(request, action)
        # By hash, as a dict looks things up: comparing texts would take longer the more of them is right.
        static: Mapping[str | None, User] = state.get("static", _NO_STATIC)
        if (user := static.get(header)) is not None:
            return user
        try:
            user, lasting = self._authentication.recognize(header)
        except InvalidCredentials:
            pass
        else:
            if lasting:
                state["static"] = {header: user}
            if user is not ANONYMOUS:
                return user
            if not is_bad and self._authentication.anonymous.allows(request.path):
                return user
        self._refuse(request, action)
        raise unauthorized()

    def _websocket_token(self, request: Request, action: Action) -> str | None:
        try:
            return authorization_of(request.headers)
        except InvalidCredentials:
            self._refuse(request, action)
            raise unauthorized() from None
