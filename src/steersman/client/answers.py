"""Answers of an API as objects. What is none of them comes from something else than an API."""

from __future__ import annotations

from typing import Any

import orjson

from steersman.client.errors import Unreachable
from steersman.objects.resource_type import ResourceType

__all__ = ["read_object"]


def read_object(content: bytes, resource: ResourceType) -> dict[str, Any]:
    """Raises `Unreachable`: what was asked for may have been done all the same."""
    try:
        decoded = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise Unreachable(f"the response is not an object of {resource}: {error}") from error
    if not isinstance(decoded, dict):
        raise Unreachable(f"the response is not an object of {resource}: {type(decoded).__name__}")
    return decoded
