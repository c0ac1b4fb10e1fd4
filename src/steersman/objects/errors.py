"""Errors of the objects package. All of them are the caller's fault: the text it gave cannot be used.

    ValueError
    └── ObjectError
        ├── QuantityError         a quantity that cannot be parsed
        ├── TimeError             a timestamp that is not RFC 3339
        ├── SelectorError         a label or field selector that cannot be parsed
        ├── FieldSetError         FieldsV1 that cannot be read
        ├── builders.errors.BuildError (see there)
        ├── custom.errors  (see there)
        └── patches.errors.PatchError  (see there)

The message is what a client of the API sees.
"""

from __future__ import annotations

__all__ = ["FieldSetError", "ObjectError", "QuantityError", "SelectorError", "TimeError"]


class ObjectError(ValueError):
    """Something given by the caller cannot be used as it is."""


class QuantityError(ObjectError):
    """Not a quantity."""


class TimeError(ObjectError):
    """Not a timestamp."""


class SelectorError(ObjectError):
    """Not a selector."""


class FieldSetError(ObjectError):
    """Not a set of fields in the FieldsV1 form."""
