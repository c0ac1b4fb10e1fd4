"""Errors of custom resources.

    ObjectError
    ├── DefinitionError       a class that cannot be a custom resource, or its definition: the author's fault
    ├── InvalidObjectError    an object that does not fit its class: the sender's fault
    └── ConversionError       an object that cannot be brought into another version

A DefinitionError names class and field, and what to write instead.
"""

from __future__ import annotations

from steersman.objects.errors import ObjectError

__all__ = ["ConversionError", "DefinitionError", "InvalidObjectError"]


class DefinitionError(ObjectError):
    """A class that cannot be said as a custom resource definition."""


class InvalidObjectError(ObjectError):
    """An object that is not one of the class it is read as."""


class ConversionError(ObjectError):
    """No way from one version to another, or a conversion that failed."""
