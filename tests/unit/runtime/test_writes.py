"""What the answer to a write says about the object's life."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.runtime.writes import is_gone

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        pytest.param({"metadata": {}}, False, id="alive"),
        pytest.param({"metadata": {"finalizers": ["x"]}}, False, id="alive with finalizers"),
        pytest.param({"metadata": DELETED}, True, id="nothing holds it"),
        pytest.param({"metadata": {**DELETED, "deletionGracePeriodSeconds": 0}}, True, id="no grace"),
        pytest.param({"metadata": {**DELETED, "deletionGracePeriodSeconds": 5}}, False, id="graceful"),
        pytest.param({"metadata": {**DELETED, "finalizers": ["x"]}}, False, id="held by a finalizer"),
        pytest.param(
            {"kind": "Namespace", "metadata": DELETED, "spec": {"finalizers": ["kubernetes"]}},
            False,
            id="a namespace that is not empty",
        ),
        pytest.param({"kind": "Namespace", "metadata": DELETED, "spec": {}}, True, id="an empty namespace"),
        pytest.param(
            {"kind": "Widget", "metadata": DELETED, "spec": {"finalizers": ["x"]}},
            True,
            id="only a namespace has finalizers in its spec",
        ),
    ],
)
def test_an_object_is_gone_when_nothing_holds_it(answer: dict[str, Any], gone: bool) -> None:
    assert is_gone(answer) is gone
