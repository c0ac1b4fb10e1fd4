"""Claim mappings of JWT issuers: from the claims of a verified token to a user, by claim name or CEL
expression.

Expressions read `claims` (or `user`, once it is mapped); validation rules must hold before a user is
accepted. Made by `authentication_file`, used by `oidc` for every new token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from steersman.cluster.auth.errors import InvalidCredentials
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, User
from steersman.cluster.cel import (
    BOOL,
    DYN,
    STRING,
    Declaration,
    Environment,
    EvaluationError,
    Program,
    simple,
    unescape,
)
from steersman.cluster.cel.types import list_of, map_of, object_type
from steersman.cluster.cel.values import SchemaMap
from steersman.objects.kinds import Object

__all__ = ["Claim", "ClaimMappings", "ClaimRule", "Expression"]


class Claim(NamedTuple):
    """The name of a claim, and a prefix for its value."""

    name: str
    prefix: str = ""

    def text(self, claims: Object, what: str) -> str:
        value = claims.get(self.name)
        if not isinstance(value, str):
            raise InvalidCredentials(f'oidc: parse {what} claim "{self.name}": not a string')
        return self.prefix + value

    def texts(self, claims: Object, what: str) -> list[str]:
        """A list, or one value alone; a claim that is not there is nothing."""
        value = claims.get(self.name)
        values = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise InvalidCredentials(f'oidc: parse {what} claim "{self.name}": not a list of strings')
        return [self.prefix + each for each in values]


def _readable(value: Any) -> Any:
    """JSON whose objects are also found under escaped names: `claims.a__dot__b`."""
    if isinstance(value, dict):
        return SchemaMap(value, _found, list, lambda _raw: {})
    return [_readable(each) for each in value] if isinstance(value, list) else value


def _found(raw: Object, name: str) -> Any:
    return _readable(raw[name] if name in raw else raw[unescape(name) or name])


_USER_FIELDS = {
    "username": STRING,
    "uid": STRING,
    "groups": list_of(STRING),
    "extra": map_of(STRING, list_of(STRING)),
}


@cache
def _environment(variable: str) -> Environment:
    if variable == "user":
        return Environment({"user": simple(object_type("kubernetes.UserInfo", _USER_FIELDS.get))})
    declared = Declaration(map_of(STRING, DYN), plain=False, convert=_readable)
    return Environment({"claims": declared})


@dataclass(frozen=True, slots=True)
class Expression:
    """A CEL expression over `claims` or `user`."""

    variable: str
    program: Program

    @classmethod
    def compile(cls, text: str, variable: str = "claims", *, condition: bool = False) -> Expression:
        """Raises CompileError."""
        returns = (BOOL,) if condition else ()
        return cls(variable, _environment(variable).compile(text, returns=returns))

    def value(self, of: Mapping[str, Any], what: str) -> Any:
        try:
            return self.program.evaluate({self.variable: of})
        except EvaluationError as error:
            about = f"expression '{self.program.expression}' resulted in error: {error}"
            raise InvalidCredentials(f"oidc: error evaluating {what}: {about}") from error

    def text(self, claims: Object, what: str) -> str:
        value = self.value(claims, f"{what} claim expression")
        if not isinstance(value, str):
            why = f"{what} claim expression must return a string"
            raise InvalidCredentials(f"oidc: error evaluating {what} claim expression: {why}")
        return value

    def texts(self, claims: Object, what: str) -> list[str]:
        """A string or a list of them; empty ones are nothing."""
        value = self.value(claims, f"{what} claim expression")
        values = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            why = "expression must return a string or a list of strings"
            raise InvalidCredentials(f"oidc: error evaluating {what} claim expression: {why}")
        return [each for each in values if each]


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """A validation rule on the claims, or on the mapped user."""

    condition: Expression
    message: str = ""

    def check(self, of: Mapping[str, Any], what: str) -> None:
        if self.condition.value(of, what) is not True:
            failed = f"validation expression '{self.condition.program.expression}' failed: {self.message}"
            raise InvalidCredentials(f"oidc: error evaluating {what}: {failed}")


@dataclass(frozen=True, slots=True)
class ClaimMappings:
    """The mapping of an issuer's claims to a user, with validation rules."""

    username: Claim | Expression
    groups: Claim | Expression | None = None
    uid: Claim | Expression | None = None
    extra: tuple[tuple[str, Expression], ...] = ()
    #: Claims that must have a value.
    required: tuple[tuple[str, str], ...] = ()
    claim_rules: tuple[ClaimRule, ...] = ()
    user_rules: tuple[ClaimRule, ...] = ()

    def user_of(self, claims: Object) -> User:
        """Raises InvalidCredentials."""
        name = self._name(claims)
        groups = self.groups.texts(claims, "group") if self.groups is not None else []
        uid = self.uid.text(claims, "uid") if self.uid is not None else ""
        extra = self._extra(claims)
        for claim, value in self.required:
            if claim not in claims:
                raise InvalidCredentials(f"oidc: required claim {claim} not present in ID token")
            if claims[claim] != value:
                got = f"Got = {claims[claim]}, want = {value}"
                raise InvalidCredentials(f"oidc: required claim {claim} value does not match. {got}")
        for rule in self.claim_rules:
            rule.check(claims, "claim validation expression")
        seen = {"username": name, "uid": uid, "groups": groups, "extra": extra}
        for rule in self.user_rules:
            rule.check(seen, "user info validation rule")
        return User(name, uid, (*groups, AUTHENTICATED_GROUP), extra)

    def _name(self, claims: Object) -> str:
        name = self.username.text(claims, "username")
        if isinstance(self.username, Expression):
            if not name:
                raise InvalidCredentials("oidc: empty username via CEL expression is not allowed")
        elif name == self.username.prefix:
            raise InvalidCredentials("oidc: empty username is not allowed")
        elif self.username.name == "email" and claims.get("email_verified", True) is not True:
            raise InvalidCredentials("oidc: email not verified")
        return name

    def _extra(self, claims: Object) -> dict[str, list[str]]:
        extra: dict[str, list[str]] = {}
        if isinstance(token_id := claims.get("jti"), str) and token_id:
            extra["authentication.kubernetes.io/credential-id"] = [f"JTI={token_id}"]
        for key, expression in self.extra:
            if values := expression.texts(claims, "extra"):
                extra[key] = values
        return extra
