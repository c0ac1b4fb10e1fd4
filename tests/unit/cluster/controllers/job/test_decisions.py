"""What is decided about jobs: whether they are over, which pods to make and delete, what is counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from steersman.cluster.controllers.job.backoff import NO_FAILURES, JobBackoff
from steersman.cluster.controllers.job.job_pods import FAILURE_COUNT, IGNORED_FAILURE_COUNT, JobPod
from steersman.cluster.controllers.job.job_spec import JobState
from steersman.cluster.controllers.job.new_pods import name_prefix, new_pod_template
from steersman.cluster.controllers.job.plan import plan
from steersman.cluster.controllers.job.policies import judge_failure
from steersman.cluster.controllers.job.tally import tally_of
from steersman.cluster.controllers.job.tracking import MOST_UNCOUNTED, counted, track
from steersman.cluster.controllers.job.verdict import completed, judge
from tests.unit.cluster.controllers.job.job_objects import indexed, job, pod
from tests.unit.cluster.controllers.workload_objects import NOW, ago

Object = dict[str, Any]


def _rules(*rules: Object) -> Object:
    return {"podFailurePolicy": {"rules": list(rules)}}


_IGNORE: Object = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
_DOOM: Object = {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}
_INDEX: Object = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [7]}}


@pytest.mark.parametrize(
    ("subject", "pods", "reason"),
    [
        pytest.param(job(), [pod("a")], "", id="it runs"),
        pytest.param(
            job(backoffLimit=1),
            [pod("a", "Failed"), pod("b", "Failed")],
            "BackoffLimitExceeded",
            id="failures",
        ),
        pytest.param(
            job({"failed": 1}, backoffLimit=1),
            [pod("a", "Failed")],
            "BackoffLimitExceeded",
            id="counted ones",
        ),
        pytest.param(
            job(backoffLimit=0),
            [pod("a", deleting=True)],
            "BackoffLimitExceeded",
            id="a pod that is deleted has failed",
        ),
        pytest.param(
            job(backoffLimit=0, podReplacementPolicy="Failed"),
            [pod("a", deleting=True)],
            "",
            id="unless only real failures count",
        ),
        pytest.param(
            job(backoffLimit=0, **_rules(_IGNORE)),
            [pod("a", "Failed", conditions=[{"type": "DisruptionTarget", "status": "True"}])],
            "",
            id="an ignored failure",
        ),
        pytest.param(job(**_rules(_DOOM)), [pod("a", "Failed", code=2)], "PodFailurePolicy", id="doomed"),
        pytest.param(job(**_rules(_DOOM)), [pod("a", "Failed", code=1)], "", id="not doomed"),
        pytest.param(
            job({"startTime": ago(100)}, activeDeadlineSeconds=100), [pod("a")], "DeadlineExceeded", id="late"
        ),
        pytest.param(
            job({"startTime": ago(100)}, activeDeadlineSeconds=100, suspend=True),
            [],
            "",
            id="late, suspended",
        ),
        pytest.param(
            indexed(3, backoffLimitPerIndex=0, backoffLimit=9, maxFailedIndexes=0),
            [pod("a", "Failed", index=1)],
            "MaxFailedIndexesExceeded",
            id="too many failed indexes",
        ),
        pytest.param(
            indexed(2, {"completedIndexes": "0"}, backoffLimitPerIndex=1, backoffLimit=9),
            [pod("a", "Failed", index=1, failures=1)],
            "FailedIndexes",
            id="nothing left to do",
        ),
        pytest.param(
            indexed(2, {"completedIndexes": "0"}, backoffLimitPerIndex=5, backoffLimit=9, **_rules(_INDEX)),
            [pod("a", "Failed", index=1, code=7, failures=0)],
            "FailedIndexes",
            id="an index that a rule ends",
        ),
        pytest.param(
            indexed(5, successPolicy={"rules": [{"succeededCount": 2}]}),
            [pod("a", "Succeeded", index=1), pod("b", "Succeeded", index=3)],
            "SuccessPolicy",
            id="enough successes",
        ),
        pytest.param(
            indexed(5, successPolicy={"rules": [{"succeededIndexes": "1-2"}]}),
            [pod("a", "Succeeded", index=1), pod("b", "Succeeded", index=3)],
            "",
            id="the wrong successes",
        ),
        pytest.param(
            job({"conditions": [{"type": "FailureTarget", "status": "True", "reason": "Before"}]}),
            [],
            "Before",
            id="decided before",
        ),
    ],
)
def test_whether_a_job_is_over(subject: JobState, pods: list[JobPod], reason: str) -> None:
    verdict = judge(tally_of(subject, pods), NOW)
    assert (verdict.reason if verdict is not None else "") == reason


@pytest.mark.parametrize(
    ("subject", "pods", "active", "expected"),
    [
        pytest.param(job(completions=2), [pod("a", "Succeeded")], 0, False, id="not enough"),
        pytest.param(job({"succeeded": 1}, completions=2), [pod("a", "Succeeded")], 0, True, id="enough"),
        pytest.param(job({"succeeded": 2}, completions=2), [], 1, False, id="one still runs"),
        pytest.param(job(), [pod("a", "Succeeded")], 0, True, id="one success will do"),
        pytest.param(job(), [pod("a", "Succeeded", tracked=False)], 0, False, id="what is counted elsewhere"),
        pytest.param(
            job({"uncountedTerminatedPods": {"succeeded": ["a"]}}, completions=2),
            [pod("a", "Succeeded")],
            0,
            False,
            id="nothing counts twice",
        ),
    ],
)
def test_whether_all_is_done(subject: JobState, pods: list[JobPod], active: int, expected: bool) -> None:
    assert (completed(tally_of(subject, pods), active) is not None) is expected


def test_a_job_says_which_rule_ended_it() -> None:
    failure = judge_failure(job(**_rules(_IGNORE, _DOOM)), pod("a", "Failed", code=2))
    assert failure.message == (
        "Container c for pod default/a failed with exit code 2 matching FailJob rule at index 1"
    )
    by_condition = {**_IGNORE, "action": "FailJob"}
    disrupted = pod("a", "Failed", conditions=[{"type": "DisruptionTarget", "status": "True"}])
    assert judge_failure(job(**_rules(by_condition)), disrupted).message == (
        "Pod default/a has condition DisruptionTarget matching FailJob rule at index 0"
    )


@pytest.mark.parametrize(
    ("subject", "pods", "deleted", "created"),
    [
        pytest.param(job(completions=5), [pod("a")], 0, [None], id="one more"),
        pytest.param(job({"succeeded": 4}, completions=5), [], 0, [None], id="no more than is left"),
        pytest.param(job(parallelism=1), [pod("a"), pod("b")], 1, [], id="one too many"),
        pytest.param(job(suspend=True), [pod("a"), pod("b")], 2, [], id="suspended"),
        pytest.param(job({"succeeded": 1}), [pod("a")], 0, [], id="what runs may finish"),
        pytest.param(
            job(podReplacementPolicy="Failed"), [pod("a", deleting=True)], 0, [None], id="one still goes"
        ),
        pytest.param(indexed(3, {"completedIndexes": "0"}), [], 0, [1, 2], id="indexes"),
        pytest.param(
            indexed(3, parallelism=3),
            [pod("a", index=1), pod("b", index=1), pod("c"), pod("d", index=3)],
            3,
            [],
            id="indexes that are doubled, missing or too large",
        ),
        pytest.param(
            indexed(3, backoffLimitPerIndex=3, parallelism=3),
            [pod("a", "Failed", index=0, code=1, ended_s=5), pod("b", "Failed", index=1, code=1, ended_s=11)],
            0,
            [1, 2],
            id="an index that waits",
        ),
    ],
)
def test_what_is_made_and_deleted(
    subject: JobState, pods: list[JobPod], deleted: int, created: list[int | None]
) -> None:
    steps = plan(tally_of(subject, pods), NO_FAILURES, NOW)
    assert len(steps.delete) == deleted
    assert list(steps.create) == created


def test_after_failures_nothing_is_made_for_a_while() -> None:
    steps = plan(tally_of(job(), []), JobBackoff(2, NOW - timedelta(seconds=5)), NOW)
    assert not steps.create
    assert steps.wait_s == pytest.approx(15)


@pytest.mark.parametrize(
    ("succeeded", "failed", "failures"),
    [
        pytest.param([], [], 3, id="nothing new"),
        pytest.param([], [10, 5], 5, id="more failures"),
        pytest.param([20], [], 0, id="a success"),
        pytest.param([20], [30, 10], 1, id="a failure after the success"),
    ],
)
def test_failures_are_counted_since_the_last_success(
    succeeded: list[int], failed: list[int], failures: int
) -> None:
    before = JobBackoff(3, NOW)
    ended = [[pod("p", code=1, ended_s=ago_s) for ago_s in ages] for ages in (succeeded, failed)]
    assert before.after(*ended).failures == failures


def test_waits_grow_up_to_ten_minutes() -> None:
    assert [JobBackoff(count, NOW).wait_s(NOW) for count in (0, 1, 2, 3, 7, 1000)] == [
        0,
        10,
        20,
        40,
        600,
        600,
    ]


def test_ended_pods_are_listed_before_they_are_let_go() -> None:
    pods = [pod("a", "Succeeded"), pod("b", "Failed"), pod("c"), pod("d", "Succeeded", tracked=False)]
    subject = job(completions=5)
    tracking = track(tally_of(subject, pods), {"failed": 1}, None)
    assert tracking.status["uncountedTerminatedPods"] == {"succeeded": ["a"], "failed": ["b"]}
    assert [one.uid for one in tracking.release] == ["a", "b"]
    assert counted(tracking.status, {"b"}) == {
        "failed": 1,
        "succeeded": 1,
        "uncountedTerminatedPods": {"failed": ["b"]},
    }
    assert counted(tracking.status, set())["failed"] == 2


def test_a_failed_index_keeps_its_pod_until_it_is_replaced() -> None:
    failed = pod("a", "Failed", index=0, code=1, failures=1)
    subject = indexed(2, backoffLimitPerIndex=3)
    assert track(tally_of(subject, [failed]), {}, None).release == []
    replacement = pod("b", index=0, failures=2)
    assert track(tally_of(subject, [failed, replacement]), {}, None).release == [failed]


def test_a_status_does_not_grow_for_ever() -> None:
    pods = [pod(f"p{number}", "Succeeded") for number in range(MOST_UNCOUNTED + 5)]
    tracking = track(tally_of(job(completions=1000), pods), {}, None)
    assert len(tracking.release) == MOST_UNCOUNTED
    assert tracking.full


def test_a_pod_of_an_index_continues_the_count_of_the_one_before() -> None:
    subject = indexed(2, backoffLimitPerIndex=3, **_rules(_IGNORE))
    assert new_pod_template(subject, 0, None)["metadata"]["annotations"][FAILURE_COUNT] == "0"
    counts = new_pod_template(subject, 0, pod("a", "Failed", index=0, code=1, failures=1))
    assert counts["metadata"]["annotations"][FAILURE_COUNT] == "2"
    disrupted = pod("a", "Failed", failures=1, conditions=[{"type": "DisruptionTarget", "status": "True"}])
    annotations = new_pod_template(subject, 0, disrupted)["metadata"]["annotations"]
    assert (annotations[FAILURE_COUNT], annotations[IGNORED_FAILURE_COUNT]) == ("1", "1")


def test_long_names_leave_room_for_the_index() -> None:
    subject = indexed(2)
    subject.obj["metadata"]["name"] = "x" * 63
    prefix = name_prefix(subject, 12)
    assert prefix == "x" * 54 + "-12-"
