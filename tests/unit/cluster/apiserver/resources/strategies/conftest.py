"""Objects as they reach a strategy: decoded and defaulted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.schema.resources import GVK


def _made(
    api_version: str, kind: str, metadata: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    gvk = GVK.of(api_version, kind)
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "uid": "u"} | (metadata or {})}
    obj = decode(gvk, head | fields).obj
    apply_defaults(*gvk, obj)
    return obj


@pytest.fixture
def make() -> Callable[..., dict[str, Any]]:
    return _made
