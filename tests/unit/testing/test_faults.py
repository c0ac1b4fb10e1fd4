"""Which requests a fault befalls: by description, number and chance."""

from __future__ import annotations

import pytest

from steersman.testing import ApiRequest, Faults
from steersman.testing.faults import Plan

GET = ApiRequest.of("GET", "/api/v1/namespaces/x/pods/a")
CREATE = ApiRequest.of("POST", "/api/v1/namespaces/x/pods")


def refusals(faults: Faults, count: int, request: ApiRequest = GET) -> str:
    """One letter for each request: refused or fine."""
    return "".join("R" if faults.plan(request).refusal else "." for _ in range(count))


def test_without_faults_nothing_happens() -> None:
    assert Faults().plan(GET) == Plan()


def test_a_fault_befalls_what_it_describes() -> None:
    faults = Faults()
    faults.refuse(500, verb="create")
    assert refusals(faults, 3, CREATE) == "RRR"
    assert refusals(faults, 3) == "..."


def test_a_fault_ends_after_its_times() -> None:
    faults = Faults()
    fault = faults.refuse(500, times=2)
    assert refusals(faults, 4) == "RR.."
    assert fault.hits == 2


def test_a_fault_lets_some_go_by_first() -> None:
    faults = Faults()
    faults.refuse(500, skip=2, times=1)
    assert refusals(faults, 5) == "..R.."


def test_chance_is_decided_by_the_seed() -> None:
    def run(seed: int) -> str:
        faults = Faults(seed)
        faults.refuse(500, probability=0.5)
        return refusals(faults, 200)

    assert run(1) == run(1) != run(2)
    assert 60 < run(1).count("R") < 140


def test_a_fault_is_over_when_its_context_is() -> None:
    faults = Faults()
    with faults.refuse(500):
        assert refusals(faults, 1) == "R"
    assert refusals(faults, 1) == "."


def test_several_faults_add_up() -> None:
    faults = Faults()
    faults.delay(2.0)
    faults.delay((1.0, 3.0))
    faults.lose_answers()
    plan = faults.plan(GET)
    assert 3.0 <= plan.delay_s <= 5.0
    assert plan.answer_lost
    assert not plan.lost


def test_cleared_faults_are_gone() -> None:
    faults = Faults()
    faults.refuse(500)
    faults.hang()
    faults.clear()
    assert faults.plan(GET) == Plan()


@pytest.mark.parametrize(
    ("code", "reason"), [(409, "Conflict"), (410, "Expired"), (429, "TooManyRequests"), (502, "")]
)
def test_a_refusal_is_a_status(code: int, reason: str) -> None:
    faults = Faults()
    faults.refuse(code, retry_after_s=7)
    refusal = faults.plan(GET).refusal
    assert refusal is not None
    assert (refusal.code, refusal.reason) == (code, reason)
    assert refusal.headers == ((b"retry-after", b"7"),)


def test_a_function_is_called() -> None:
    faults = Faults()
    called: list[str] = []
    faults.call(lambda: called.append("now"), skip=1, times=1)
    for _ in range(3):
        faults.plan(GET)
    assert called == ["now"]
