"""A custom resource's compiled schema: everything the API server does with an object because of it.

`compile_schema` once per version of a definition; the result serves every request. For an object a client
 sent: `coerce` (metadata decoded, unknown fields dropped and reported), `default`, and after
admission `validate_create`, `validate_update` or `validate_status`. Objects read from the store get
`default` only. Nothing here stores, converts or knows users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from steersman.cluster.schema.structural import evaluation
from steersman.cluster.schema.structural.correlation import Correlated
from steersman.cluster.schema.structural.defaulting import compile_defaulter
from steersman.cluster.schema.structural.embedded import coerce_metadata, compile_checker, compile_coercer
from steersman.cluster.schema.structural.errors import MetadataError
from steersman.cluster.schema.structural.explain import explain
from steersman.cluster.schema.structural.lists import compile_list_checker
from steersman.cluster.schema.structural.node import JSONSchema, Node, parse
from steersman.cluster.schema.structural.paths import scale_spec_errors, scale_status_errors
from steersman.cluster.schema.structural.pruning import Place, compile_null_pruner, compile_pruner, path_of
from steersman.cluster.schema.structural.rules import RuleEngine, compile_tree
from steersman.cluster.schema.structural.schemas import to_schema
from steersman.cluster.schema.structural.translate import compile_acceptor
from steersman.objects.fields import FieldError, Path
from steersman.objects.kinds import Object
from steersman.objects.schemas import Schema

__all__ = ["StructuralSchema", "Verdict", "compile_schema"]


_ROOT: Final = Path()
_STATUS: Final = Path("status")
#: With one of these, rules are not evaluated: the object may not have the types they expect.
_BLOCKING: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_NOT_CHECKED: Final = FieldError(
    "FieldValueInvalid",
    "<nil>",
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


class Verdict(NamedTuple):
    """What is wrong with an object, and what was wrong before and is only warned of."""

    errors: list[FieldError]
    warnings: list[str]


def compile_schema(
    schema: JSONSchema | None,
    *,
    rules: RuleEngine | None = None,
    scale: Object | None = None,
    preserve_unknown_fields: bool = False,
) -> StructuralSchema:
    """The schema of one version: its `openAPIV3Schema` and its scale subresource.

    Without an engine, validation rules are not evaluated. Raises NotStructuralError.
    """
    return StructuralSchema(parse(schema or {}), rules, scale, preserve_unknown_fields)


class StructuralSchema:
    """See the module's docstring. Compiled parts are None where the schema has nothing for them to do."""

    def __init__(
        self, node: Node, rules: RuleEngine | None, scale: Object | None, preserve_unknown_fields: bool
    ) -> None:
        self.node = node
        self._scale = scale
        self._prune = None if preserve_unknown_fields else compile_pruner(node, resource=True)
        self._prune_nulls = None if preserve_unknown_fields else compile_null_pruner(node)
        self._default = compile_defaulter(node)
        self._coerce = compile_coercer(node)
        self._check_embedded = compile_checker(node)
        self._check_lists = compile_list_checker(node)
        self._rules = compile_tree(rules, node, resource=True) if rules is not None else None
        self._accept = compile_acceptor(node.raw)
        self._see = _visible_part(node)
        status = node.properties.get("status")
        self._accept_status = compile_acceptor(status.raw) if status is not None else None

    def coerce(self, obj: Object, *, keep_nulls: bool = False) -> list[str]:
        """Bring what a client sent into shape, in place; the unknown fields it had, as strict decoding
        words them. Raises MetadataError for what is wrong beyond that."""
        try:
            unknown = coerce_metadata(obj) + self._pruned(obj, keep_nulls)
            if self._coerce is not None:
                unknown += sorted(self._coerce(obj, _ROOT))
        except RecursionError:
            raise MetadataError("exceeded max depth") from None
        return [f'unknown field "{path}"' for path in unknown]

    def _pruned(self, obj: Object, keep_nulls: bool) -> list[str]:
        """Drop what the schema does not know, and nulls it does not want; the former by path."""
        if self._prune is None:
            return []
        dropped: list[tuple[Place, str]] = []
        self._prune(obj, None, dropped)
        if self._prune_nulls is not None and not keep_nulls:
            self._prune_nulls(obj)
        return sorted(path_of(place, key) for place, key in dropped) if dropped else []

    def default(self, obj: Object) -> None:
        """Fill in what the schema has defaults for, in place."""
        if self._default is not None:
            self._default(obj)

    def validate_create(self, obj: Object, earlier: Sequence[FieldError] = ()) -> Verdict:
        """What is wrong with a new object. `earlier` are the errors of its metadata, which come first."""
        errors = [*earlier, *self._schema_errors(obj, None)]
        errors += self._scale_errors(obj)
        if self._check_embedded is not None:
            errors += self._check_embedded(obj, _ROOT)
        if self._check_lists is not None:
            errors += self._check_lists(obj, _ROOT)
        return self._with_rules(errors, obj, None, None)

    def validate_update(
        self, obj: Object, old: Object, earlier: Sequence[FieldError] = (), *, ratcheting: bool = True
    ) -> Verdict:
        """What is wrong with replacing `old`; with ratcheting, what did not change may stay wrong."""
        correlated = Correlated(obj, old, self.node) if ratcheting else None
        errors = [*earlier, *self._schema_errors(obj, correlated)]
        errors += self._scale_errors(obj)
        if self._check_embedded is not None:
            errors += self._check_embedded(obj, _ROOT)
        errors += self._list_errors(obj, old)
        return self._with_rules(errors, obj, old, correlated)

    def validate_status(self, obj: Object, old: Object, earlier: Sequence[FieldError] = ()) -> Verdict:
        """What is wrong with replacing the status of `old`."""
        correlated = Correlated(obj, old, self.node)
        errors = [*earlier, *self._status_errors(obj, correlated)]
        errors += scale_status_errors(obj, self._scale)
        errors += self._list_errors(obj, old)
        return self._with_rules(errors, obj, old, correlated)

    def to_schema(self) -> Schema:
        """The shape for patches, server-side apply and field ownership."""
        return to_schema(self.node)

    def _schema_errors(self, obj: Object, correlated: Correlated | None) -> list[FieldError]:
        if _accepts(self._accept, self._see(obj)):
            return []
        return explain(self.node.raw, obj, _ROOT, correlated)

    def _status_errors(self, obj: Object, correlated: Correlated) -> list[FieldError]:
        if "status" not in obj or self._accept_status is None or _accepts(self._accept_status, obj["status"]):
            return []
        return explain(self.node.properties["status"].raw, obj["status"], _STATUS, correlated.key("status"))

    def _scale_errors(self, obj: Object) -> list[FieldError]:
        if self._scale is None:
            return []
        return scale_spec_errors(obj, self._scale) + scale_status_errors(obj, self._scale)

    def _list_errors(self, obj: Object, old: Object) -> list[FieldError]:
        """Repeated items may stay in an object that had some."""
        if self._check_lists is None:
            return []
        errors = self._check_lists(obj, _ROOT)
        return [] if errors and self._check_lists(old, _ROOT) else errors

    def _with_rules(
        self, errors: list[FieldError], obj: Object, old: Object | None, correlated: Correlated | None
    ) -> Verdict:
        if self._rules is None:
            return Verdict(errors, [])
        if any(error.reason in _BLOCKING for error in errors):
            return Verdict([*errors, _NOT_CHECKED], [])
        found = evaluation.evaluate(self._rules, obj, old, correlated=correlated)
        return Verdict(errors + found.errors, found.warnings)


def _accepts(check: Callable[[Any], bool], value: Any) -> bool:
    """The quick check; it gives up on what is nested deeper than it follows."""
    try:
        return check(value)
    except ValueError:
        return False


def _visible_part(node: Node) -> Callable[[Object], Object]:
    """What of an object its schema can judge: of the metadata, which may be large, name and generateName."""
    if "minProperties" in node.raw or "maxProperties" in node.raw or node.additional is not None:
        return lambda obj: obj
    metadata = node.properties.get("metadata")
    seen = tuple(metadata.properties) if metadata is not None else ()

    def visible(obj: Object) -> Object:
        part = {**obj}
        meta = part.pop("metadata", None)
        if meta is not None:
            part["metadata"] = {key: meta[key] for key in seen if key in meta}
        return part

    return visible
