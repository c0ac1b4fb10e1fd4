"""The ValidatingAdmissionPolicy plugin: CEL expressions that must be true for a write to be admitted."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from steersman.cluster.admission.cached import CachedObjects
from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.policies.definitions import (
    AdmissionPolicy,
    Compile,
    PolicyBinding,
    read_policies,
)
from steersman.cluster.admission.policies.selection import (
    Invocation,
    Misconfigured,
    bindings_for,
    namespace_object,
    select,
)
from steersman.cluster.admission.webhooks.conditions import CompiledExpression
from steersman.cluster.admission.webhooks.configurations import GROUP
from steersman.cluster.admission.webhooks.context import AdmissionContext
from steersman.cluster.admission.webhooks.errors import ExpressionError, OutOfBudget
from steersman.cluster.admission.webhooks.invoking import annotate
from steersman.cluster.admission.webhooks.matching import is_exempt
from steersman.cluster.admission.webhooks.versions import in_version
from steersman.cluster.cel import Budget, evaluated
from steersman.cluster.cel.limits import MESSAGE_SIZE_LIMIT, VALIDATION_BUDGET
from steersman.objects.status import StatusError

__all__ = ["ValidatingAdmissionPolicy"]

_log = logging.getLogger(__name__)

_PLURALS = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
_MAX_ANNOTATION_LENGTH = 10 * 1024
_MAX_AUDITED_FAILURES = 50
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}


@dataclass(frozen=True, slots=True)
class CompiledValidation:
    """A compiled validation of a policy."""

    program: CompiledExpression
    expression: str
    message: str
    message_program: CompiledExpression | None
    reason: str


@dataclass(frozen=True, slots=True)
class ValidatingRules:
    """The validations and audit annotations of a policy."""

    validations: tuple[CompiledValidation, ...]
    #: (key, the program of its value)
    annotations: tuple[tuple[str, CompiledExpression], ...]


def _rules(spec: Mapping[str, Any], compile_: Compile) -> ValidatingRules:
    validations = [
        CompiledValidation(
            compile_(each["expression"]),
            each["expression"].strip(),
            each.get("message", "").strip(),
            compile_(text, returns="string", authorizer=False)
            if (text := each.get("messageExpression"))
            else None,
            each.get("reason") or "Invalid",
        )
        for each in spec.get("validations") or ()
    ]
    annotations = [
        (each["key"], compile_(each["valueExpression"], returns="string or null"))
        for each in spec.get("auditAnnotations") or ()
    ]
    return ValidatingRules(tuple(validations), tuple(annotations))


@dataclass(frozen=True, slots=True)
class _Violation:
    """A failed validation of a policy: message and reason."""

    policy: str
    binding: str | None
    message: str
    reason: str = "Invalid"
    #: Which of the policy's validations it is.
    index: int = 0

    def __str__(self) -> str:
        through = "" if self.binding is None else f" with binding '{self.binding}'"
        return f"ValidatingAdmissionPolicy '{self.policy}'{through} denied request: {self.message}"


@dataclass(slots=True)
class _Verdict:
    """The results of all policies for one write."""

    denied: list[_Violation] = field(default_factory=list)
    audited: list[dict[str, Any]] = field(default_factory=list)
    #: (policy, key) → distinct values
    annotations: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def annotate(self, policy: str, key: str, value: str) -> None:
        values = self.annotations.setdefault((policy, key), [])
        if value not in values:
            values.append(value)

    def enforce(self, attributes: Attributes, violation: _Violation, binding: PolicyBinding) -> None:
        """Do what the binding says follows from a violation."""
        for action in binding.actions:
            if action == "Deny":
                self.denied.append(violation)
            elif action == "Warn":
                attributes.warnings.append(
                    f"Validation failed for ValidatingAdmissionPolicy '{violation.policy}' with binding "
                    f"'{violation.binding}': {violation.message}"
                )
            elif action == "Audit":
                self.audited.append(
                    {
                        "message": violation.message,
                        "policy": violation.policy,
                        "binding": violation.binding,
                        "expressionIndex": violation.index,
                        "validationActions": list(binding.actions),
                    }
                )


class ValidatingAdmissionPolicy:
    name = "ValidatingAdmissionPolicy"

    def __init__(self, context: AdmissionContext) -> None:
        self._context = context
        self.policies = CachedObjects(
            lambda: read_policies(context.reader, context.compiler, _PLURALS, _rules),
            *((GROUP, plural) for plural in _PLURALS),
        )

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return not is_exempt(group, plural)

    def admit(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        policies = self.policies.get()
        return self._validate(attributes, policies) if policies else None

    async def _validate(
        self, attributes: Attributes, policies: tuple[AdmissionPolicy[ValidatingRules], ...]
    ) -> None:
        found = await select(self._context, attributes, policies)
        if not found:
            return
        verdict = _Verdict()
        for each in found:
            if isinstance(each, Misconfigured):
                if not each.policy.ignore_failures:
                    binding = None if each.binding is None else each.binding.name
                    verdict.denied.append(_Violation(each.policy.name, binding, each.message))
            else:
                await self._evaluate(attributes, each, verdict)
        _publish(attributes, verdict)
        if verdict.denied:
            raise _refused(attributes, verdict.denied[0])

    async def _evaluate(
        self, attributes: Attributes, invocation: Invocation[ValidatingRules], verdict: _Verdict
    ) -> None:
        context = self._context
        versioned = await in_version(context.types, attributes, invocation.served)
        namespace = namespace_object(context, attributes)
        evaluation = _Evaluation(
            invocation, partial(bindings_for, context, attributes, versioned, invocation, namespace)
        )
        violations, notes, denied = await evaluated(evaluation.run)
        for violation in violations:
            verdict.enforce(attributes, violation, invocation.binding)
        verdict.denied += denied
        for key, value in notes:
            verdict.annotate(invocation.policy.name, key, value)


class _Evaluation:
    """The evaluation of one policy for one write."""

    def __init__(self, invocation: Invocation[ValidatingRules], bindings: partial[dict[str, Any]]) -> None:
        self._policy = invocation.policy
        self._violation = partial(_Violation, invocation.policy.name, invocation.binding.name)
        self._bindings = bindings

    def run(self) -> tuple[list[_Violation], list[tuple[str, str]], list[_Violation]]:
        """What is wrong with the write; what the policy wants noted; and notes that could not be made, which
        deny. That something cannot be said is wrong too, unless failures are ignored."""
        try:
            if not self._policy.conditions.hold(self._bindings):
                return [], [], []
        except ExpressionError as error:
            return self._failure(error), [], []
        try:
            violations = list(self._failed())
        except ExpressionError as error:
            violations = self._failure(error)
        denied: list[_Violation] = []
        return violations, list(self._notes(denied)), denied

    def _failure(self, error: ExpressionError) -> list[_Violation]:
        return [] if self._policy.ignore_failures else [self._violation(str(error), "")]

    def _failed(self) -> Iterator[_Violation]:
        budget = Budget(VALIDATION_BUDGET)
        values = self._bindings(budget)
        outcomes: list[str | bool] = []
        for validation in self._policy.rules.validations:
            try:
                outcomes.append(validation.program.evaluate(values, budget) is True)
            except OutOfBudget:
                raise
            except ExpressionError as error:
                outcomes.append(str(error))
        for index, (validation, outcome) in enumerate(
            zip(self._policy.rules.validations, outcomes, strict=True)
        ):
            if isinstance(outcome, str):
                if not self._policy.ignore_failures:
                    yield self._violation(outcome, "", index)
            elif not outcome:
                yield self._violation(self._message(validation, budget), validation.reason, index)

    def _message(self, validation: CompiledValidation, budget: Budget) -> str:
        message = ""
        if validation.message_program is not None:
            try:
                said = validation.message_program.evaluate(self._bindings(budget), budget)
                message = said.strip() if isinstance(said, str) else ""
            except OutOfBudget as error:
                return f"failed messageExpression: {error}"
            except ExpressionError as error:
                _log.info("a messageExpression failed: %s", error)
            if len(message.encode()) > MESSAGE_SIZE_LIMIT or "\n" in message:
                message = ""
        return message or validation.message or f"failed expression: {validation.expression}"

    def _notes(self, denied: list[_Violation]) -> Iterator[tuple[str, str]]:
        rules = self._policy.rules
        if not rules.annotations:
            return
        budget = Budget(VALIDATION_BUDGET)
        values = self._bindings(budget)
        for key, program in rules.annotations:
            try:
                value = program.evaluate(values, budget)
            except ExpressionError as error:
                denied += self._failure(error)
                if isinstance(error, OutOfBudget):
                    return
                continue
            if isinstance(value, str) and value.strip():
                yield key, value.strip()[:_MAX_ANNOTATION_LENGTH]


def _publish(attributes: Attributes, verdict: _Verdict) -> None:
    for (policy, key), values in verdict.annotations.items():
        annotate(attributes, f"{policy}/{key}", ", ".join(values))
    if verdict.audited:
        failures = orjson.dumps(verdict.audited[:_MAX_AUDITED_FAILURES]).decode()
        annotate(attributes, "validation.policy.admission.k8s.io/validation_failure", failures)


def _refused(attributes: Attributes, violation: _Violation) -> StatusError:
    error = attributes.refusal(str(violation))
    error.reason = violation.reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    assert error.details is not None
    error.details["causes"] = [{"message": str(violation)}]
    return error
