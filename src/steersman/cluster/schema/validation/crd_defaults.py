"""Defaults in the schema of a custom resource definition: each must be valid and without unknown fields."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from steersman.cluster.cel.limits import VALIDATION_BUDGET
from steersman.cluster.schema.structural.embedded import compile_checker, compile_coercer
from steersman.cluster.schema.structural.errors import MetadataError
from steersman.cluster.schema.structural.evaluation import evaluate
from steersman.cluster.schema.structural.explain import explain
from steersman.cluster.schema.structural.lists import sorted_keys
from steersman.cluster.schema.structural.node import META_FIELDS, Node
from steersman.cluster.schema.structural.pruning import compile_pruner
from steersman.cluster.schema.structural.rules import RuleEngine, compile_tree
from steersman.objects.fields import FieldError, Path, invalid, join

__all__ = ["default_errors", "has_unpruned_defaults"]

#: Puts a value where it stands in the resource around it.
Surround = Callable[[Any], Any]

_TYPE_META: Final = {"apiVersion": "validation/v1", "kind": "Validation"}


def default_errors(
    node: Node, path: Path, engine: RuleEngine | None, *, require_pruned: bool = True
) -> list[FieldError]:
    """What is wrong with the defaults of a whole schema."""
    check = _Check(engine, require_pruned)
    check.visit(replace(node, embedded=True), path, None)
    return check.errors


class _Check:
    def __init__(self, engine: RuleEngine | None, require_pruned: bool) -> None:
        self.errors: list[FieldError] = []
        self._engine = engine
        self._require_pruned = require_pruned
        self._budget = VALIDATION_BUDGET
        self._root = Node()

    def visit(self, node: Node, path: Path, surround: Surround | None) -> None:
        """`surround` is given inside the metadata of a resource, where a value alone says too little."""
        if self._budget <= 0:
            return
        outer = self._root
        if node.embedded:
            self._root, surround = node, None
        if node.default is not None:
            self._judge(node, path.child("default"), surround)
        if node.items is not None:
            self.visit(node.items, path.child("items"), surround and _inside_list(surround))
        for key in sorted(node.properties):
            inside = surround
            if node.embedded and key in META_FIELDS:
                inside = _whole
            below = _inside(inside, key) if inside is not None else None
            self.visit(node.properties[key], path.child("properties").key(key), below)
        self._root = outer

    def _judge(self, node: Node, path: Path, surround: Surround | None) -> None:
        value = deepcopy(node.default)
        if surround is not None:
            errors = self._metadata_errors(surround(value), path, node.default)
        else:
            errors = self._plain_errors(node, value, path)
        errors = errors or explain(node.raw, value, path)
        self.errors += errors
        if not errors and self._engine is not None:
            self._rules(self._engine, node, value, path)

    def _plain_errors(self, node: Node, value: Any, path: Path) -> list[FieldError]:
        shown = sorted_keys(node.default)
        if self._require_pruned and _prunes(node):
            self.errors.append(invalid(path, shown, "must not have unknown fields"))
        coerce, check = compile_coercer(node), compile_checker(node)
        if coerce is None or check is None:
            return []
        try:
            coerce(value, path)
        except MetadataError as error:
            return [error.field_error or invalid(path, shown, str(error))]
        return check(value, path)

    def _metadata_errors(self, resource: Any, path: Path, default: Any) -> list[FieldError]:
        coerce, check = compile_coercer(self._root), compile_checker(self._root)
        if coerce is None or check is None:
            return []
        try:
            coerce(resource, Path())
            errors = check(resource, Path())
        except MetadataError as error:
            return [invalid(path, sorted_keys(default), f"must result in valid metadata: {error}")]
        if not errors:
            return []
        return [invalid(path, sorted_keys(default), f"must result in valid metadata: {join(errors)}")]

    def _rules(self, engine: RuleEngine, node: Node, value: Any, path: Path) -> None:
        """A default must satisfy the rules both as a first value and as one that stays."""
        tree = compile_tree(engine, node, resource=node is self._root)
        if tree is None:
            return
        left = self._budget
        for old in (value, None):
            found = evaluate(tree, value, old, path=path, budget=self._budget)
            left = min(left, found.budget)
            self.errors += found.errors
            if found.errors:
                break
        self._budget = left


def _whole(value: Any) -> Any:
    return {**_TYPE_META, **value}


def _inside(surround: Surround, key: str) -> Surround:
    return lambda value: surround({key: value})


def _inside_list(surround: Surround) -> Surround:
    return lambda value: surround([value])


def _prunes(node: Node) -> bool:
    """Whether the node's default has fields that its schema does not know."""
    if not isinstance(node.default, (dict, list)):
        return False
    pruned = deepcopy(node.default)
    compile_pruner(node)(pruned, None, [])
    return bool(pruned != node.default)


def has_unpruned_defaults(node: Node) -> bool:
    return node.any(_prunes)
