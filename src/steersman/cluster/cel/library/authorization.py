"""The authorizer library: `authorizer.group('').resource('pods').check('create').allowed()`.

Only admission policies and match conditions have an `authorizer`. A callback answers: evaluation stays
synchronous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, TypeAlias

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import Function, function, member
from steersman.cluster.cel.types import BOOL, STRING, opaque
from steersman.cluster.cel.values import Frame
from steersman.objects import names

__all__ = [
    "AUTHORIZER",
    "FUNCTIONS",
    "RESOURCE_CHECK",
    "AccessQuestion",
    "AuthorizerValue",
    "CheckResult",
    "ResourceCheck",
]

AUTHORIZER: Final = opaque("kubernetes.authorization.Authorizer")
PATH_CHECK: Final = opaque("kubernetes.authorization.PathCheck")
GROUP_CHECK: Final = opaque("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK: Final = opaque("kubernetes.authorization.ResourceCheck")
DECISION: Final = opaque("kubernetes.authorization.Decision")

#: kube-apiserver allows two checks per expression: each costs a third of the budget.
_CHECK_COST: Final = 350_000


@dataclass(frozen=True, slots=True)
class AccessQuestion:
    """The check that an expression makes: may this user use `verb` on a path or a resource?"""

    verb: str
    #: None asks about the requesting user, else about (namespace, name) of a service account.
    service_account: tuple[str, str] | None = None
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check: allowed or not, reason, error."""

    cel_type: ClassVar[str] = "kubernetes.authorization.Decision"
    allowed: bool
    reason: str = ""
    error: str = ""


Ask: TypeAlias = Callable[[AccessQuestion], CheckResult]


@dataclass(frozen=True, slots=True)
class AuthorizerValue:
    """The value of `authorizer`."""

    cel_type: ClassVar[str] = "kubernetes.authorization.Authorizer"
    ask: Ask = field(compare=False)
    service_account: tuple[str, str] | None = None

    def resource_check(self, **about: str) -> ResourceCheck:
        """The value of `authorizer.requestResource`, given the request's group, resource, …"""
        return ResourceCheck(self.ask, AccessQuestion("", self.service_account, **about))


@dataclass(frozen=True, slots=True)
class _PathCheck:
    """The value of `authorizer.path(…)`."""

    cel_type: ClassVar[str] = "kubernetes.authorization.PathCheck"
    ask: Ask = field(compare=False)
    question: AccessQuestion


@dataclass(frozen=True, slots=True)
class _GroupCheck:
    """The value of `authorizer.group(…)`."""

    cel_type: ClassVar[str] = "kubernetes.authorization.GroupCheck"
    authorizer: AuthorizerValue
    group: str


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """The value of `authorizer.group(…).resource(…)`."""

    cel_type: ClassVar[str] = "kubernetes.authorization.ResourceCheck"
    ask: Ask = field(compare=False)
    question: AccessQuestion


def _path(_frame: Frame, authorizer: AuthorizerValue, path: str) -> _PathCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return _PathCheck(authorizer.ask, AccessQuestion("", authorizer.service_account, path=path))


def _group(_frame: Frame, authorizer: AuthorizerValue, group: str) -> _GroupCheck:
    return _GroupCheck(authorizer, group)


def _service_account(
    _frame: Frame, authorizer: AuthorizerValue, namespace: str, name: str
) -> AuthorizerValue:
    if names.name_is_dns_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if names.name_is_dns_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    return AuthorizerValue(authorizer.ask, (namespace, name))


def _resource(_frame: Frame, check: _GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return check.authorizer.resource_check(group=check.group, resource=resource)


def _with(part: str) -> Any:
    def run(_frame: Frame, check: ResourceCheck, value: str) -> ResourceCheck:
        changes: dict[str, Any] = {part: value}
        return ResourceCheck(check.ask, replace(check.question, **changes))

    return run


def _check(_frame: Frame, check: _PathCheck | ResourceCheck, verb: str) -> CheckResult:
    return check.ask(replace(check.question, verb=verb))


def _check_cost(*_args: Any) -> int:
    return _CHECK_COST


def _selector_cost(_check: Any, selector: str) -> int:
    # A list, the parsing, and a requirement for every two characters.
    return 10 + (len(selector) + 9) // 10 + (len(selector) + 1) // 2 * 50


FUNCTIONS: Final[list[Function]] = [
    function("path", member("authorizer_path", [AUTHORIZER, STRING], PATH_CHECK, _path)),
    function(
        "group",
        member("authorizer_group", [AUTHORIZER, STRING], GROUP_CHECK, _group),
    ),
    function(
        "serviceAccount",
        member("authorizer_serviceaccount", [AUTHORIZER, STRING, STRING], AUTHORIZER, _service_account),
    ),
    function("resource", member("groupcheck_resource", [GROUP_CHECK, STRING], RESOURCE_CHECK, _resource)),
    *(
        function(name, member(f"resourcecheck_{name}", [RESOURCE_CHECK, STRING], RESOURCE_CHECK, _with(name)))
        for name in ("subresource", "namespace", "name")
    ),
    function(
        "fieldSelector",
        member("authorizer_fieldselector", [RESOURCE_CHECK, STRING], RESOURCE_CHECK, _with("field_selector"),
               _selector_cost),
    ),
    function(
        "labelSelector",
        member("authorizer_labelselector", [RESOURCE_CHECK, STRING], RESOURCE_CHECK, _with("label_selector"),
               _selector_cost),
    ),
    function(
        "check",
        member("pathcheck_check", [PATH_CHECK, STRING], DECISION, _check, _check_cost),
        member("resourcecheck_check", [RESOURCE_CHECK, STRING], DECISION, _check, _check_cost),
    ),
    function("errored", member("decision_errored", [DECISION], BOOL, lambda _f, d: bool(d.error))),
    function("error", member("decision_error", [DECISION], STRING, lambda _f, d: d.error)),
    function("allowed", member("decision_allowed", [DECISION], BOOL, lambda _f, d: d.allowed)),
    function("reason", member("decision_reason", [DECISION], STRING, lambda _f, d: d.reason)),
]  # fmt: skip
