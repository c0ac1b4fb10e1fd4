"""What to do next for a StatefulSet: tables of pods, and the steps they lead to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.statefulset.plan import next_steps, sorted_out
from tests.unit.cluster.controllers.statefulset.sets import stateful_set
from tests.unit.cluster.controllers.workload_objects import NOW, pod_state


class ClaimState:
    """Claims that are as they should be, but for those of some numbers."""

    def __init__(
        self,
        stale: Collection[int] = (),
        missing: Collection[int] = (),
        wrong: Collection[str] = (),
        unretained: Collection[str] = (),
    ) -> None:
        self._stale, self._missing, self._wrong, self._unretained = stale, missing, wrong, unretained

    def is_stale(self, ordinal: int) -> bool:
        return ordinal in self._stale

    def is_missing(self, ordinal: int) -> bool:
        return ordinal in self._missing

    def is_right(self, pod: PodState) -> bool:
        return pod.name not in self._wrong

    def is_retained(self, pod: PodState) -> bool:
        return pod.name not in self._unretained


#: One letter a pod, by number: available, ready but not for long, running but not ready, pending, failed,
#: deleting, missing; capital letters are of the old revision.
_PODS: dict[str, dict[str, Any]] = {
    "a": {},
    "s": {"ready_for_s": 1},
    "r": {"ready": False},
    "p": {"ready": False, "phase": "Pending"},
    "f": {"ready": False, "phase": "Failed"},
    "d": {"deleting": True},
}


def _pods(letters: str, first: int = 0) -> list[PodState]:
    return [
        pod_state(
            f"db-{number}",
            labels={"controller-revision-hash": "old" if letter.isupper() else "new"},
            **_PODS[letter.lower()],
        )
        for number, letter in enumerate(letters, first)
        if letter != "-"
    ]


def _steps(subject: dict[str, Any], letters: str, storage: ClaimState | None = None, first: int = 0) -> str:
    members = sorted_out(subject, _pods(letters, first))
    steps = next_steps(subject, members, storage or ClaimState(), "new", NOW)
    return " ".join(f"{step.action}-{step.ordinal}" for step in steps)


@pytest.mark.parametrize(
    ("letters", "steps"),
    [
        pytest.param("", "create-0", id="the first comes first"),
        pytest.param("a", "create-1", id="then the next"),
        pytest.param("r", "", id="not before the first is ready"),
        pytest.param("s", "", id="not before it was ready for long enough"),
        pytest.param("p", "", id="nor while it is pending"),
        pytest.param("aaa", "", id="all there"),
        pytest.param("a-a", "create-1", id="a gap is filled"),
        pytest.param("-aa", "create-0", id="a gap at the front"),
        pytest.param("fa", "delete-0", id="a failed one is replaced"),
        pytest.param("da", "", id="one that goes is waited for"),
        pytest.param("aaaaa", "delete-4", id="too many: the highest goes"),
        pytest.param("aaaad", "", id="one after the other"),
        pytest.param("araaa", "", id="not while a wanted one is not ready"),
        pytest.param("aaaar", "delete-4", id="the highest is the one that is not ready"),
        pytest.param("aaarr", "", id="a lower one must become ready first"),
        pytest.param("aaara", "delete-4", id="the highest is fine, so it goes"),
    ],
)
def test_in_order(letters: str, steps: str) -> None:
    assert _steps(stateful_set(3, minReadySeconds=10), letters) == steps


@pytest.mark.parametrize(
    ("letters", "steps"),
    [
        pytest.param("", "create-0 create-1 create-2", id="all at once"),
        pytest.param("r-f", "create-1 delete-2", id="what is due"),
        pytest.param("rrr", "", id="nothing is waited for"),
        pytest.param("aaarrd", "delete-4 delete-3", id="too many go at once"),
    ],
)
def test_in_parallel(letters: str, steps: str) -> None:
    assert _steps(stateful_set(3, podManagementPolicy="Parallel"), letters) == steps


@pytest.mark.parametrize(
    ("strategy", "letters", "steps"),
    [
        pytest.param({}, "AAA", "delete-2", id="the highest first"),
        pytest.param({}, "AAa", "delete-1", id="then the next"),
        pytest.param({}, "AAr", "", id="when the highest is ready again"),
        pytest.param({}, "AAd", "", id="or even there"),
        pytest.param({}, "aaa", "", id="done"),
        pytest.param({"partition": 2}, "AAA", "delete-2", id="from the partition on"),
        pytest.param({"partition": 2}, "AAa", "", id="and no further"),
        pytest.param({"partition": 5}, "AAA", "", id="a canary that is not there"),
        pytest.param({"maxUnavailable": 2}, "AAA", "delete-2 delete-1", id="two at a time"),
        pytest.param({"maxUnavailable": "50%"}, "AAA", "delete-2", id="rounded down"),
        pytest.param({"maxUnavailable": "10%"}, "AAA", "delete-2", id="at least one"),
    ],
)
def test_updating_in_order(strategy: dict[str, Any], letters: str, steps: str) -> None:
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, **strategy}}
    assert _steps(stateful_set(3, updateStrategy=update), letters) == steps


@pytest.mark.parametrize(
    ("letters", "steps"),
    [
        pytest.param("AAAA", "delete-3 delete-2", id="as many as may be missing"),
        pytest.param("RAAA", "delete-0 delete-3", id="broken ones first, and one more"),
        pytest.param("RRRA", "delete-2 delete-1 delete-0", id="all that are broken"),
        pytest.param("AArr", "", id="enough are missing"),
        pytest.param("AAar", "delete-1", id="room for one"),
    ],
)
def test_updating_in_parallel(letters: str, steps: str) -> None:
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 2}}
    subject = stateful_set(4, updateStrategy=update, podManagementPolicy="Parallel")
    assert _steps(subject, letters) == steps


def test_on_delete_leaves_old_pods_alone() -> None:
    subject = stateful_set(3, updateStrategy={"type": "OnDelete"})
    assert _steps(subject, "AAA") == ""
    assert _steps(subject, "AA-") == "create-2"


def test_scaling_goes_before_updating() -> None:
    assert _steps(stateful_set(3), "AAAA") == "delete-3"
    assert _steps(stateful_set(3), "AA-") == "create-2"


def test_numbers_start_where_asked() -> None:
    subject = stateful_set(2, ordinals={"start": 5})
    assert _steps(subject, "a", first=5) == "create-6"
    assert _steps(subject, "aaa", first=4) == "delete-4"


@pytest.mark.parametrize(
    ("storage", "letters", "steps"),
    [
        pytest.param(ClaimState(stale=[1]), "a", "", id="a claim of an earlier pod is waited for"),
        pytest.param(ClaimState(missing=[0]), "p", "claims-0", id="a pending pod gets the claims it lacks"),
        pytest.param(ClaimState(missing=[0]), "aaa", "", id="a running one has what it needs"),
        pytest.param(ClaimState(wrong=["db-0"]), "aaa", "update-0", id="labels are put right"),
        pytest.param(ClaimState(wrong=["db-1"]), "ar", "", id="but not before it is ready"),
        pytest.param(ClaimState(unretained=["db-1"]), "aaa", "update-1", id="claims get their owners"),
        pytest.param(ClaimState(unretained=["db-0"]), "p", "claims-0", id="those of a pending pod quietly"),
        pytest.param(ClaimState(unretained=["db-3"]), "aaaa", "retain-3 delete-3", id="before the pod goes"),
    ],
)
def test_claims(storage: ClaimState, letters: str, steps: str) -> None:
    assert _steps(stateful_set(3), letters, storage) == steps
