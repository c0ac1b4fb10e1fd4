"""The AuthenticationConfiguration file: JWT issuers and anonymous access.

Read once, at start. Error messages are kube-apiserver's where it has some. Beyond Kubernetes, an issuer's
keys may be in a file (`jwksFile`, beside the configuration), for clusters without a network.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Final
from urllib.parse import urlsplit

from steersman.cluster.auth.authentication import API_AUDIENCE, AnonymousAccess
from steersman.cluster.auth.claims import Claim, ClaimMappings, ClaimRule, Expression
from steersman.cluster.auth.errors import ConfigurationInvalid
from steersman.cluster.auth.jwt import VerificationKey
from steersman.cluster.auth.oidc import Issuer, read_key_set
from steersman.cluster.cel import CompileError
from steersman.cluster.codec.configuration import check_fields, check_kind, flag, list_of, read_file, text
from steersman.objects.fields import FieldError, Path, duplicate, invalid, required, too_many
from steersman.objects.kinds import Object
from steersman.objects.names import is_domain_prefixed_path

__all__ = ["AuthenticationSettings", "read_authentication_file"]


_KIND: Final = "AuthenticationConfiguration"
_VERSIONS: Final = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_MOST_ISSUERS: Final = 64
_BOTH: Final = "claim and expression can't both be set"
_EITHER: Final = "claim or expression is required"
_NO_PREFIX: Final = (
    "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
)
_VERIFIED: Final = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used "
    "in claimMappings.username.expression"
)


@dataclass(frozen=True, slots=True)
class AuthenticationSettings:
    """The settings of an AuthenticationConfiguration."""

    issuers: tuple[Issuer, ...] = ()
    anonymous: AnonymousAccess = field(default_factory=AnonymousAccess)


def read_authentication_file(file: FilePath) -> AuthenticationSettings:
    """Raises ConfigurationInvalid with the first thing that is wrong."""
    try:
        obj = read_file(file)
    except ValueError as error:
        raise ConfigurationInvalid(str(file), str(error)) from None
    problem = next(_form_errors(obj), None)
    if problem is not None:
        raise ConfigurationInvalid(str(file), str(problem))
    reader = _Reader(file.parent)
    settings = reader.settings(obj)
    if reader.errors:
        raise ConfigurationInvalid(str(file), str(reader.errors[0]))
    return settings


# --- Form


def _form_errors(obj: Any) -> Iterator[FieldError]:
    yield from check_kind(obj, _VERSIONS, _KIND)
    if isinstance(obj, dict):
        yield from check_fields(obj, _CONFIGURATION, Path())


def _object(**fields: Any) -> Callable[[Any, Path], Iterator[FieldError]]:
    return lambda value, path: check_fields(value, fields, path)


_ISSUER: Final = _object(
    url=text,
    discoveryURL=text,
    certificateAuthority=text,
    audiences=list_of(text),
    audienceMatchPolicy=text,
    egressSelectorType=text,
)
_PREFIXED: Final = _object(claim=text, prefix=text, expression=text)
_MAPPINGS: Final = _object(
    username=_PREFIXED,
    groups=_PREFIXED,
    uid=_object(claim=text, expression=text),
    extra=list_of(_object(key=text, valueExpression=text)),
)
_CLAIM_RULE: Final = _object(claim=text, requiredValue=text, expression=text, message=text)
_JWT: Final = _object(
    issuer=_ISSUER,
    claimMappings=_MAPPINGS,
    claimValidationRules=list_of(_CLAIM_RULE),
    userValidationRules=list_of(_object(expression=text, message=text)),
    jwksFile=text,
)
_CONFIGURATION: Final = {
    "apiVersion": text,
    "kind": text,
    "jwt": list_of(_JWT),
    "anonymous": _object(enabled=flag, conditions=list_of(_object(path=text))),
}


# --- Meaning


class _Reader:
    """Converts a well-formed file to settings, and collects semantic errors."""

    def __init__(self, folder: FilePath) -> None:
        self._folder = folder
        self.errors: list[FieldError] = []

    def settings(self, obj: Object) -> AuthenticationSettings:
        given = obj.get("jwt") or []
        if len(given) > _MOST_ISSUERS:
            self.errors.append(too_many(Path("jwt"), len(given), _MOST_ISSUERS))
        seen: set[tuple[str, str]] = set()
        issuers = []
        for number, each in enumerate(given):
            path = Path("jwt").index(number)
            if (issuer := self._issuer(each or {}, path)) is not None:
                issuers.append(issuer)
            for name in ("url", "discoveryURL"):
                url = ((each or {}).get("issuer") or {}).get(name) or ""
                if url and (name, url) in seen:
                    self.errors.append(duplicate(path.child("issuer", name), url))
                seen.add((name, url))
        return AuthenticationSettings(tuple(issuers), self._anonymous(obj.get("anonymous")))

    def _anonymous(self, given: Object | None) -> AnonymousAccess:
        if given is None:
            return AnonymousAccess()
        conditions = given.get("conditions") or []
        if not given.get("enabled") and conditions:
            why = "enabled should be set to true when conditions are defined"
            self.errors.append(invalid(Path("anonymous").child("conditions"), conditions, why))
        return AnonymousAccess(
            bool(given.get("enabled")), frozenset(each.get("path", "") for each in conditions)
        )

    def _issuer(self, given: Object, path: Path) -> Issuer | None:
        issuer, at = given.get("issuer") or {}, path.child("issuer")
        url, discovery = issuer.get("url") or "", issuer.get("discoveryURL") or ""
        self._check_url(url, at.child("url"), own=True)
        if discovery:
            if url and url.rstrip("/") == discovery.rstrip("/"):
                why = "discoveryURL must be different from URL"
                self.errors.append(invalid(at.child("discoveryURL"), discovery, why))
            self._check_url(discovery, at.child("discoveryURL"), own=False)
        self._check_audiences(issuer, at)
        self._check_authority(issuer.get("certificateAuthority") or "", at.child("certificateAuthority"))
        mappings = self._mappings(given, path)
        keys = self._keys(given.get("jwksFile") or "", path.child("jwksFile"))
        if mappings is None:
            return None
        return Issuer(
            url,
            tuple(issuer.get("audiences") or ()),
            mappings,
            discovery,
            issuer.get("certificateAuthority") or "",
            keys,
        )

    def _keys(self, name: str, path: Path) -> tuple[VerificationKey, ...]:
        if not name:
            return ()
        try:
            return read_key_set((self._folder / name).read_bytes())
        except (OSError, ValueError) as error:
            why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            self.errors.append(invalid(path, name, why))
            return ()

    def _check_url(self, url: str, path: Path, *, own: bool) -> None:
        if not url:
            self.errors.append(required(path))
            return
        if own and url == API_AUDIENCE:
            why = f"URL must not overlap with disallowed issuers: [{API_AUDIENCE}]"
            self.errors.append(invalid(path, url, why))
        try:
            parts = urlsplit(url)
        except ValueError as error:
            self.errors.append(invalid(path, url, str(error)))
            return
        for wrong, why in (
            (parts.scheme != "https", "URL scheme must be https"),
            ("@" in parts.netloc, "URL must not contain a username or password"),
            (bool(parts.query), "URL must not contain a query"),
            (bool(parts.fragment), "URL must not contain a fragment"),
        ):
            if wrong:
                self.errors.append(invalid(path, url, why))

    def _check_audiences(self, issuer: Object, at: Path) -> None:
        path, policy_path = at.child("audiences"), at.child("audienceMatchPolicy")
        audiences, policy = issuer.get("audiences") or [], issuer.get("audienceMatchPolicy") or ""
        if not audiences:
            self.errors.append(required(path, f"at least one {path} is required"))
            return
        for number, audience in enumerate(audiences):
            if not audience:
                self.errors.append(required(path.index(number)))
            if audience in audiences[:number]:
                self.errors.append(duplicate(path.index(number), audience))
        if len(audiences) > 1 and policy != "MatchAny":
            why = "audienceMatchPolicy must be MatchAny for multiple audiences"
            self.errors.append(invalid(policy_path, policy, why))
        if len(audiences) == 1 and policy not in ("", "MatchAny"):
            why = "audienceMatchPolicy must be empty or MatchAny for single audience"
            self.errors.append(invalid(policy_path, policy, why))

    def _check_authority(self, pem: str, path: Path) -> None:
        if not pem:
            return
        try:
            ssl.create_default_context(cadata=pem)
        except (ssl.SSLError, ValueError):
            why = "data does not contain any valid RSA or ECDSA certificates"
            self.errors.append(invalid(path, "<omitted>", why))

    def _mappings(self, given: Object, path: Path) -> ClaimMappings | None:
        """None when something is wrong with it."""
        before = len(self.errors)
        claim_rules, required_claims = self._claim_rules(given.get("claimValidationRules") or (), path)
        mappings, at = given.get("claimMappings") or {}, path.child("claimMappings")
        username = self._source(mappings.get("username") or {}, at.child("username"), needed=True)
        groups = self._source(mappings.get("groups") or {}, at.child("groups"))
        uid = self._uid(mappings.get("uid") or {}, at.child("uid"))
        extra = self._extra(mappings.get("extra") or (), at.child("extra"))
        self._check_email(username, [*(rule.condition for rule in claim_rules), *dict(extra).values()], at)
        user_rules = self._user_rules(given.get("userValidationRules") or (), path)
        if len(self.errors) > before or username is None:
            return None
        return ClaimMappings(
            username, groups, uid, tuple(extra), tuple(required_claims), tuple(claim_rules), tuple(user_rules)
        )

    def _claim_rules(self, rules: Any, path: Path) -> tuple[list[ClaimRule], list[tuple[str, str]]]:
        made: list[ClaimRule] = []
        values: dict[str, str] = {}
        seen: set[str] = set()
        for number, rule in enumerate(rules):
            at = path.child("claimValidationRules").index(number)
            claim, expression = rule.get("claim") or "", rule.get("expression") or ""
            if claim and expression:
                self.errors.append(invalid(at, claim, _BOTH))
            elif claim:
                if rule.get("message"):
                    why = "may not be specified when claim is set"
                    self.errors.append(invalid(at.child("message"), rule["message"], why))
                if claim in values:
                    self.errors.append(duplicate(at.child("claim"), claim))
                values[claim] = rule.get("requiredValue") or ""
            elif expression:
                if rule.get("requiredValue"):
                    why = "may not be specified when expression is set"
                    self.errors.append(invalid(at.child("requiredValue"), rule["requiredValue"], why))
                made += self._rule(rule, at, "claims", seen)
            else:
                self.errors.append(required(at, _EITHER))
        return made, list(values.items())

    def _user_rules(self, rules: Any, path: Path) -> list[ClaimRule]:
        seen: set[str] = set()
        made: list[ClaimRule] = []
        for number, rule in enumerate(rules):
            made += self._rule(rule, path.child("userValidationRules").index(number), "user", seen)
        return made

    def _rule(self, given: Object, path: Path, variable: str, seen: set[str]) -> list[ClaimRule]:
        expression, at = given.get("expression") or "", path.child("expression")
        if not expression:
            self.errors.append(required(at))
            return []
        if expression in seen:
            self.errors.append(duplicate(at, expression))
            return []
        seen.add(expression)
        condition = self._compiled(expression, at, variable, condition=True)
        return [] if condition is None else [ClaimRule(condition, given.get("message") or "")]

    def _source(self, given: Object, path: Path, *, needed: bool = False) -> Claim | Expression | None:
        claim, expression, prefix = given.get("claim"), given.get("expression"), given.get("prefix")
        if claim and expression:
            self.errors.append(invalid(path, "", _BOTH))
        elif expression:
            if prefix is not None:
                why = "may not be specified when expression is set"
                self.errors.append(invalid(path.child("prefix"), prefix, why))
            return self._compiled(expression, path.child("expression"))
        elif claim:
            if prefix is None:
                self.errors.append(required(path.child("prefix"), _NO_PREFIX))
            return Claim(claim, prefix or "")
        elif needed:
            self.errors.append(required(path, _EITHER))
        return None

    def _uid(self, given: Object, path: Path) -> Claim | Expression | None:
        claim, expression = given.get("claim"), given.get("expression")
        if claim and expression:
            self.errors.append(invalid(path, "", _BOTH))
        elif expression:
            return self._compiled(expression, path.child("expression"))
        return Claim(claim) if claim else None

    def _extra(self, mappings: Any, path: Path) -> list[tuple[str, Expression]]:
        made: dict[str, Expression] = {}
        seen: set[str] = set()
        for number, mapping in enumerate(mappings):
            at = path.index(number)
            key, expression = mapping.get("key") or "", mapping.get("valueExpression") or ""
            self._check_key(key, at.child("key"))
            if key in seen:
                self.errors.append(duplicate(at.child("key"), key))
            elif not expression:
                self.errors.append(required(at.child("valueExpression")))
            elif (compiled := self._compiled(expression, at.child("valueExpression"))) is not None:
                made[key] = compiled
            seen.add(key)
        return list(made.items())

    def _check_key(self, key: str, path: Path) -> None:
        if not key:
            self.errors.append(required(path))
            return
        self.errors += [invalid(path, key, why) for why in is_domain_prefixed_path(key)]
        if key != key.lower():
            self.errors.append(invalid(path, key, "must be lowercase"))
        domain = key.partition("/")[0] if "/" in key else ""
        if any(domain == own or domain.endswith("." + own) for own in ("kubernetes.io", "k8s.io")):
            why = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
            self.errors.append(invalid(path, key, why))

    def _check_email(self, username: Claim | Expression | None, others: list[Expression], path: Path) -> None:
        """An address that nobody verified must not become a name unnoticed."""
        if not isinstance(username, Expression) or not username.program.selects("claims", "email"):
            return
        if not any(each.program.selects("claims", "email_verified") for each in (username, *others)):
            at = path.child("username", "expression")
            self.errors.append(invalid(at, username.program.expression, _VERIFIED))

    def _compiled(
        self, expression: str, path: Path, variable: str = "claims", *, condition: bool = False
    ) -> Expression | None:
        try:
            return Expression.compile(expression, variable, condition=condition)
        except CompileError as error:
            self.errors.append(invalid(path, expression, str(error)))
            return None
