"""What can go wrong with a custom resource's schema and what belongs to it.

    ValueError
    ├── NotStructuralError    the schema says something that no structural schema can say
    ├── PatternError          a regular expression that Go would not compile
    ├── JSONPathError         a JSONPath that cannot be parsed, or does not apply to the data
    ├── FieldPathError        a rule's or a selectable field's path that leads nowhere in the schema
    ├── RuleCompileError      a validation rule that does not compile
    ├── RuleEvaluationError   a validation rule that compiled and failed while it ran
    ├── FieldTypeError        a path of fields leads through or to a value of another type
    ├── MetadataError         the metadata of an object is not metadata
    └── ConversionError       a conversion webhook answered something that cannot be used

The definition's author is to blame for the first five, the object's for MetadataError, the webhook for
the last. Texts are Kubernetes', since clients see them.
"""

from __future__ import annotations

from steersman.objects.fields import FieldError

__all__ = [
    "ConversionError",
    "FieldPathError",
    "FieldTypeError",
    "JSONPathError",
    "MetadataError",
    "NotStructuralError",
    "PatternError",
    "RuleCompileError",
    "RuleEvaluationError",
]


class NotStructuralError(ValueError):
    """The schema uses what structural schemas do not know ($ref, patternProperties, …)."""


class PatternError(ValueError):
    """Go refuses this regular expression; the text is what its compiler says."""


class JSONPathError(ValueError):
    """A JSONPath that is not one, or that does not apply."""


class FieldPathError(ValueError):
    """A path into the schema that does not lead to a field."""


class RuleCompileError(ValueError):
    """A rule or message expression that cannot be compiled."""


class RuleEvaluationError(ValueError):
    """A rule failed while it ran. `cost` is what it had spent, `cost_exceeded` why it stopped."""

    def __init__(self, message: str, cost: int = 0, *, cost_exceeded: bool = False) -> None:
        super().__init__(message)
        self.cost = cost
        self.cost_exceeded = cost_exceeded


class FieldTypeError(ValueError):
    """A field on the way of a path, or at its end, is not what the path needs."""


class MetadataError(ValueError):
    """Metadata, kind or apiVersion has the wrong type; `field_error` says where in an embedded resource."""

    def __init__(self, problem: str | FieldError) -> None:
        super().__init__(str(problem))
        self.field_error = problem if isinstance(problem, FieldError) else None


class ConversionError(ValueError):
    """A conversion webhook failed, or its answer cannot be used."""
