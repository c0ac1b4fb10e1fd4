"""Errors of authentication and authorization.

Exception
├── InvalidCredentials    the client's fault: a 401
├── BadToken              malformed, or not signed by a trusted key
├── ConfigurationInvalid  the authentication file cannot be read or is invalid; one line
└── RoleMissing           a binding refers to a role that does not exist
"""

from __future__ import annotations

from steersman.objects.fields import quote

__all__ = ["BadToken", "ConfigurationInvalid", "InvalidCredentials", "RoleMissing"]


class InvalidCredentials(Exception):
    """Credentials were given and are invalid. The text gives the reason where Kubernetes does
    (TokenReview).
    """


class BadToken(Exception):
    """A malformed or untrusted token. The text reveals nothing of the token's content."""


class ConfigurationInvalid(Exception):
    """An error in the AuthenticationConfiguration file."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}".replace("\n", " "))


class RoleMissing(Exception):
    """The role of a binding does not exist, or is of an unknown kind."""

    def __init__(self, kind: str, name: str) -> None:
        if kind in ("Role", "ClusterRole"):
            super().__init__(f"{kind.lower()}.rbac.authorization.k8s.io {quote(name)} not found")
        else:
            super().__init__(f"unsupported role reference kind: {quote(kind)}")
