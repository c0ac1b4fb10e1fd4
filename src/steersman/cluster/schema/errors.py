"""What can be wrong with data given as a built-in type.

SchemaError
├── TableMissing     the installation is incomplete
└── DecodeError      the data does not fit the type; the text is the one Go's decoder gives
"""

from __future__ import annotations

__all__ = ["DecodeError", "SchemaError", "TableMissing"]


class SchemaError(Exception):
    """Base of this package's errors."""


class TableMissing(SchemaError):
    """The schema table was not built into the package."""

    def __init__(self) -> None:
        super().__init__(
            "the schema table of the built-in types is missing: install Steersman with `pip install -e .`"
        )


class DecodeError(SchemaError, ValueError):
    """Data that Go could not decode into the type."""
