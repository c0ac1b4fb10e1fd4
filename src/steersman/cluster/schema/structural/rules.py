"""Validation rules (x-kubernetes-validations): what a rule engine must offer, and rules compiled by it.

The language is behind the `RuleEngine` protocol. A schema's rules become a tree that follows the schema's
nodes; `evaluation` walks it along an object, the definition's validation asks it for errors and costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from steersman.cluster.schema.structural.errors import FieldPathError, RuleCompileError
from steersman.cluster.schema.structural.fieldpath import resolve_field_path
from steersman.cluster.schema.structural.node import JSONSchema, Node

__all__ = [
    "CompiledRule",
    "Outcome",
    "Program",
    "RuleEngine",
    "RuleTree",
    "Scope",
    "compile_rules",
    "compile_tree",
]


class Outcome(NamedTuple):
    value: Any
    cost: int


class Program(Protocol):
    """A compiled expression."""

    @property
    def uses_old_self(self) -> bool: ...

    @property
    def result_type(self) -> str:
        """The type the expression is known to have: "bool", "string", "dyn", …"""

    @property
    def estimated_cost(self) -> int:
        """The most one evaluation can cost for values that the schema allows."""

    def evaluate(self, value: Any, old: Any) -> Outcome:
        """The expression for `self` and `oldSelf` (None: there is none). Raises RuleEvaluationError, also
        when it costs more than one call may."""


class Scope(Protocol):
    """What the rules of one node can refer to."""

    @property
    def max_cardinality(self) -> int:
        """How many values of the node's type fit into one request."""

    def compile(self, expression: str, *, optional_old_self: bool) -> Program:
        """Raises RuleCompileError with what the compiler lists."""


class RuleEngine(Protocol):
    def scope(self, node: Node, *, resource: bool) -> Scope | None:
        """The scope of a node's rules; None when its type cannot be told. A resource has metadata."""


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule with its programs, or why it has none. A blank rule has neither."""

    rule: JSONSchema
    program: Program | None = None
    error: str = ""
    message: Program | None = None
    message_error: str = ""
    #: The rule's fieldPath in the form that errors show.
    field_path: str = ""

    @property
    def text(self) -> str:
        return str(self.rule.get("message") or self.rule.get("rule", "")).strip()


def compile_rules(scope: Scope, node: Node) -> list[CompiledRule]:
    """The node's own rules, one result each."""
    return [_compile_rule(scope, node, rule) for rule in node.rules]


def _compile_rule(scope: Scope, node: Node, rule: JSONSchema) -> CompiledRule:
    expression: str = rule.get("rule", "")
    if not expression.strip():
        return CompiledRule(rule)
    optional = bool(rule.get("optionalOldSelf"))
    try:
        program = scope.compile(expression, optional_old_self=optional)
    except RuleCompileError as error:
        return CompiledRule(rule, error=str(error))
    if program.result_type != "bool":
        return CompiledRule(rule, error="cel expression must evaluate to a bool")
    message, message_error = None, ""
    if text := rule.get("messageExpression"):
        try:
            message = scope.compile(text, optional_old_self=optional)
        except RuleCompileError as error:
            why = str(error).removeprefix("compilation failed: ")
            message_error = f"messageExpression compilation failed: {why}"
        if message is not None and message.result_type != "string":
            message, message_error = None, "messageExpression must evaluate to a string"
    shown = ""
    if path := rule.get("fieldPath"):
        try:
            shown = resolve_field_path(path, node).text
        except FieldPathError:
            shown = ""
    return CompiledRule(rule, program, "", message, message_error, shown)


@dataclass(frozen=True, slots=True)
class RuleTree:
    """The rules at a node and below it; branches without rules are absent."""

    node: Node
    rules: tuple[CompiledRule, ...] = ()
    items: RuleTree | None = None
    values: RuleTree | None = None
    properties: dict[str, RuleTree] = field(default_factory=dict)
    #: The node has rules, and no type they could be compiled for.
    untyped: bool = False


def compile_tree(engine: RuleEngine, node: Node, *, resource: bool) -> RuleTree | None:
    """All rules of a schema, None when there are none."""
    items = compile_tree(engine, node.items, resource=node.items.embedded) if node.items else None
    values = compile_tree(engine, node.values, resource=node.values.embedded) if node.values else None
    properties = {
        key: tree
        for key, child in node.properties.items()
        if (tree := compile_tree(engine, child, resource=child.embedded)) is not None
    }
    if not (node.rules or items or values or properties):
        return None
    scope = engine.scope(node, resource=resource) if node.rules else None
    rules = tuple(compile_rules(scope, node)) if scope is not None else ()
    return RuleTree(node, rules, items, values, properties, bool(node.rules) and scope is None)
