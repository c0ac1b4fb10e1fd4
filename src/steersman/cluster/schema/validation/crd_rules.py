"""Validation rules in the schema of a custom resource definition: they must compile, and not cost too much.

The static cost of a rule is what one evaluation can cost times how often its place can occur, as far as
maxItems and maxProperties around it say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from steersman.cluster.cel.bounds import MOST
from steersman.cluster.cel.limits import ESTIMATE_LIMIT, ESTIMATE_TOTAL_LIMIT, cost_error, repeated_cost
from steersman.cluster.schema.structural.errors import FieldPathError, NotStructuralError
from steersman.cluster.schema.structural.fieldpath import resolve_field_path
from steersman.cluster.schema.structural.node import JSONSchema, Node, parse
from steersman.cluster.schema.structural.rules import CompiledRule, RuleEngine, Scope, compile_rules
from steersman.cluster.schema.validation.crd_internal import internal_rule
from steersman.objects.fields import FieldError, Path, forbidden, internal, invalid, not_supported, required

__all__ = ["CostAccount", "RuleContext", "expression_errors", "rule_errors"]

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_KEYWORD: Final = "x-kubernetes-validations"


@dataclass(slots=True)
class CostAccount:
    """What all rules of a schema cost together, and the most expensive of them."""

    total: int = 0
    most_expensive: list[tuple[int, Path]] = field(default_factory=list)

    def add(self, path: Path, cost: int) -> None:
        self.total = min(self.total + cost, MOST)
        if cost >= ESTIMATE_TOTAL_LIMIT // 100:
            self.most_expensive.append((cost, path))
            self.most_expensive.sort(key=lambda entry: -entry[0])
            del self.most_expensive[4:]

    def errors(self, path: Path) -> list[FieldError]:
        """What is said when the whole schema costs too much."""
        if self.total <= ESTIMATE_TOTAL_LIMIT:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        name = f"{_KEYWORD} estimated rule cost total for entire OpenAPIv3 schema"
        return [
            *(forbidden(place, text) for _, place in self.most_expensive),
            forbidden(path, cost_error(name, self.total, ESTIMATE_TOTAL_LIMIT)),
        ]


@dataclass(frozen=True, slots=True)
class RuleContext:
    """Where in a schema the rules of a node stand: how often, and whether an old value corresponds."""

    node: Node
    engine: RuleEngine
    costs: CostAccount
    #: How often the place can occur in an object; None when nothing limits it.
    cardinality: int | None = 1
    resource: bool = True

    def child(self, node: Node | None) -> RuleContext | None:
        if node is None:
            return None
        factor = _most_elements(self.node)
        known = self.cardinality is not None and factor is not None
        cardinality = repeated_cost(self.cardinality or 0, factor or 0) if known else None
        return RuleContext(node, self.engine, self.costs, cardinality, node.embedded)

    def cost_of(self, cost: int, scope: Scope) -> int:
        times = scope.max_cardinality if self.cardinality is None else self.cardinality
        return repeated_cost(cost, times)


def _most_elements(node: Node) -> int | None:
    """How many children of one kind a value can have."""
    limit = {"object": "maxProperties", "array": "maxItems"}.get(node.type, "")
    if not limit or (node.type == "object" and node.additional is None):
        return 1
    most = node.raw.get(limit)
    return None if most is None else max(most, 0)


def rule_errors(schema: JSONSchema, path: Path) -> list[FieldError]:
    """What is wrong with the form of a node's rules."""
    errors: list[FieldError] = []
    for index, rule in enumerate(schema.get(_KEYWORD) or ()):
        own = path.child(_KEYWORD).index(index)
        errors += _text_errors(rule, own)
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            errors.append(not_supported(own.child("reason"), reason, _REASONS))
        if field_path := rule.get("fieldPath"):
            errors += _field_path_errors(field_path, schema, own.child("fieldPath"))
    return errors


def _text_errors(rule: JSONSchema, path: Path) -> list[FieldError]:
    expression, message = rule.get("rule", "").strip(), rule.get("message", "")
    errors = []
    if not expression:
        errors.append(required(path.child("rule"), "rule is not specified"))
    elif message and not message.strip():
        errors.append(invalid(path.child("message"), message, "must be non-empty if specified"))
    elif _has_line_breaks(message.strip()):
        errors.append(invalid(path.child("message"), message, "must not contain line breaks"))
    elif _has_line_breaks(expression) and not message:
        text = "message must be specified if rule contains line breaks"
        errors.append(required(path.child("message"), text))
    if (text := rule.get("messageExpression", "")) and not text.strip():
        own = path.child("messageExpression")
        errors.append(required(own, "messageExpression must be non-empty if specified"))
    return errors


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def _field_path_errors(field_path: str, schema: JSONSchema, path: Path) -> list[FieldError]:
    errors = []
    if not field_path.strip():
        errors.append(invalid(path, field_path, "must be non-empty if specified"))
    if _has_line_breaks(field_path):
        errors.append(invalid(path, field_path, "must not contain line breaks"))
    try:
        resolve_field_path(field_path, parse(schema))
    except FieldPathError:
        errors.append(invalid(path, field_path, "must be a valid path"))
    except NotStructuralError:
        pass  # reported elsewhere
    return errors


def expression_errors(
    context: RuleContext, path: Path, uncorrelatable: Path | None, *, check_cost: bool
) -> list[FieldError]:
    """What is wrong with the expressions of a node's rules. `uncorrelatable` is the list or map around the
    node in which old and new items cannot be recognized as the same."""
    if not context.node.rules:
        return []
    own = path.child(_KEYWORD)
    scope = context.engine.scope(context.node, resource=context.resource)
    if scope is None:
        text = f"internal error: failed to construct type information for {_KEYWORD} rules"
        reason = "unable to convert structural schema to CEL declarations"
        return [internal(own, f"{text}: {reason}")]
    errors: list[FieldError] = []
    for index, compiled in enumerate(compile_rules(scope, context.node)):
        errors += _expression_errors(compiled, context, scope, own.index(index), check_cost)
        errors += _old_self_errors(compiled, own.index(index), uncorrelatable)
    return errors


def _expression_errors(
    compiled: CompiledRule, context: RuleContext, scope: Scope, path: Path, check_cost: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    cost = context.cost_of(compiled.program.estimated_cost, scope) if compiled.program else 0
    rule_path, message_path = path.child("rule"), path.child("messageExpression")
    if check_cost and cost > ESTIMATE_LIMIT:
        errors.append(forbidden(rule_path, cost_error("estimated rule cost", cost, ESTIMATE_LIMIT)))
    context.costs.add(rule_path, cost)
    if compiled.error:
        errors.append(invalid(rule_path, internal_rule(compiled.rule), compiled.error))
    if compiled.message_error:
        errors.append(invalid(message_path, internal_rule(compiled.rule), compiled.message_error))
    elif compiled.message is not None:
        cost = compiled.message.estimated_cost
        if check_cost and cost > ESTIMATE_LIMIT:
            text = cost_error("estimated messageExpression cost", cost, ESTIMATE_LIMIT)
            errors.append(forbidden(message_path, text))
        context.costs.add(message_path, cost)
    return errors


def _old_self_errors(compiled: CompiledRule, path: Path, uncorrelatable: Path | None) -> list[FieldError]:
    rule = compiled.rule
    if compiled.program is not None and compiled.program.uses_old_self:
        if uncorrelatable is None:
            return []
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
        return [invalid(path.child("rule"), rule.get("rule", ""), text)]
    if rule.get("optionalOldSelf") is None:
        return []
    text = "may not be set if oldSelf is not used in rule"
    return [invalid(path.child("optionalOldSelf"), rule["optionalOldSelf"], text)]
