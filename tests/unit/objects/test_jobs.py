"""A Job is finished when it is Complete or Failed."""

from __future__ import annotations

import msgspec
import pytest

from steersman.objects.jobs import finished_condition, is_finished
from steersman.objects.kinds.views.workloads import FinishedJobView


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        pytest.param([("Complete", "True")], "Complete", id="complete"),
        pytest.param([("Failed", "True")], "Failed", id="failed"),
        pytest.param([("Complete", "False")], None, id="not complete"),
        pytest.param([("SuccessCriteriaMet", "True"), ("FailureTarget", "True")], None, id="interim"),
    ],
)
def test_a_job_is_finished_by_its_conditions(conditions: list[tuple[str, str]], expected: str | None) -> None:
    job = {"status": {"conditions": [{"type": kind, "status": status} for kind, status in conditions]}}
    assert finished_condition(job) == expected
    assert is_finished(job) is (expected is not None)


def test_a_job_without_a_status_is_not_finished() -> None:
    assert not is_finished({"metadata": {"name": "new"}})


@pytest.mark.parametrize("status", ["True", "False"])
def test_a_view_of_a_job_says_the_same(status: str) -> None:
    job = {"status": {"conditions": [{"type": "Failed", "status": status}]}}
    view = msgspec.json.decode(msgspec.json.encode(job), type=FinishedJobView)
    assert view.finished is is_finished(job)
