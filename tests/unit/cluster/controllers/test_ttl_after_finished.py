"""When a finished job's time is up."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.ttl_after_finished import expires_at
from steersman.objects.times import format_time

ENDED = "2026-01-01T00:00:00Z"


def condition(kind: str, status: str = "True", **more: str) -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": ENDED, **more}


@pytest.mark.parametrize(
    ("ttl", "conditions", "metadata", "expected"),
    [
        pytest.param(60, [condition("Complete")], {}, "2026-01-01T00:01:00Z", id="complete"),
        pytest.param(0, [condition("Failed")], {}, ENDED, id="at once"),
        pytest.param(
            60, [condition("Suspended"), condition("Failed")], {}, "2026-01-01T00:01:00Z", id="second"
        ),
        pytest.param(None, [condition("Complete")], {}, None, id="kept"),
        pytest.param(60, [], {}, None, id="running"),
        pytest.param(60, [condition("Complete", "False")], {}, None, id="not complete"),
        pytest.param(60, [condition("SuccessCriteriaMet")], {}, None, id="ending"),
        pytest.param(60, [condition("Failed")], {"deletionTimestamp": ENDED}, None, id="being deleted"),
        pytest.param(60, [{"type": "Failed", "status": "True"}], {}, None, id="nobody knows when"),
    ],
)
def test_expiry(
    ttl: int | None, conditions: list[dict[str, str]], metadata: dict[str, Any], expected: str | None
) -> None:
    spec = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    expires = expires_at({"metadata": metadata, "spec": spec, "status": {"conditions": conditions}})
    assert (format_time(expires) if expires is not None else None) == expected
