"""What becomes of tokens in Secrets that nobody uses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from steersman.cluster.controllers.legacy_tokens import judge
from steersman.objects.times import format_time

Object = dict[str, Any]

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
USED, INVALID = "kubernetes.io/legacy-token-last-used", "kubernetes.io/legacy-token-invalid-since"
ACCOUNT: Object = {"secrets": [{"name": "other"}, {"name": "token"}]}
LONG_AGO, LATELY = "2025-05-31", "2025-06-01"


def secret(*, days: int = 366, labels: dict[str, str] | None = None, **metadata: Any) -> Object:
    created = format_time(NOW - timedelta(days=days))
    return {"metadata": {"name": "token", "creationTimestamp": created, "labels": labels or {}, **metadata}}


@pytest.mark.parametrize(
    ("token", "account", "mounted", "expected"),
    [
        pytest.param(secret(), ACCOUNT, (), "mark", id="never used"),
        pytest.param(secret(labels={USED: LONG_AGO}), ACCOUNT, (), "mark", id="used long ago"),
        pytest.param(secret(labels={USED: LATELY}), ACCOUNT, (), None, id="used lately"),
        pytest.param(secret(labels={USED: "once"}), ACCOUNT, (), None, id="used who knows when"),
        pytest.param(secret(days=364), ACCOUNT, (), None, id="young"),
        pytest.param(secret(), None, (), None, id="no account"),
        pytest.param(secret(), {"secrets": [{"name": "other"}]}, (), None, id="made by hand"),
        pytest.param(secret(), ACCOUNT, ("token",), None, id="mounted"),
        pytest.param(secret(deletionTimestamp="x"), ACCOUNT, (), None, id="being deleted"),
        pytest.param(secret(labels={INVALID: LATELY}), ACCOUNT, (), None, id="marked lately"),
        pytest.param(secret(labels={INVALID: "once"}), ACCOUNT, (), "mark", id="marked wrongly"),
        pytest.param(secret(labels={INVALID: LONG_AGO}), ACCOUNT, (), "delete", id="marked long ago"),
        pytest.param(secret(labels={INVALID: LONG_AGO, USED: LATELY}), ACCOUNT, (), None, id="marked, used"),
    ],
)
def test_what_becomes_of_a_token(
    token: Object, account: Object | None, mounted: tuple[str, ...], expected: str | None
) -> None:
    assert judge(token, account, mounted, NOW) == expected
