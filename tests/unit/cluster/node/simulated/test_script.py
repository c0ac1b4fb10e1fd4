"""What annotations say about simulated containers."""

from __future__ import annotations

import math

import pytest

from steersman.cluster.node.simulated.script import PREFIX, ContainerScript, duration_s
from steersman.cluster.node.simulated.usage import usage_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250ms", 0.25),
        ("1.5s", 1.5),
        ("2m", 120),
        ("1h30m", 5400),
        ("0", 0),
        ("never", math.inf),
        ("5", None),
        ("soon", None),
        ("5s!", None),
        ("", None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert duration_s(text) == seconds


def test_a_container_of_its_own_comes_before_all_containers() -> None:
    script = ContainerScript({f"{PREFIX}/run-time": "1s", f"a.{PREFIX}/run-time": "2s"}, "a")
    assert script.seconds("run-time") == 2
    assert ContainerScript({f"{PREFIX}/run-time": "1s"}, "b").seconds("run-time") == 1
    assert ContainerScript({}, "b", {"run-time": "3s"}).seconds("run-time") == 3


@pytest.mark.parametrize(
    ("text", "codes"), [("", [0, 0]), ("1", [1, 1]), ("1,2, 0", [1, 2, 0, 0]), ("x", [0]), ("300", [44])]
)
def test_exit_codes_by_attempt(text: str, codes: list[int]) -> None:
    script = ContainerScript({f"{PREFIX}/exit-code": text}, "a")
    assert [script.exit_code(attempt) for attempt in range(len(codes))] == codes


def test_a_probe_succeeds_with_its_first_try_unless_scripted() -> None:
    probe = {"initialDelaySeconds": 7}
    assert ContainerScript({}, "a").probe_s("ready-after", probe) == 7
    assert ContainerScript({}, "a").probe_s("ready-after", None) == 0
    assert ContainerScript({f"{PREFIX}/ready-after": "1s"}, "a").probe_s("ready-after", probe) == 1


def test_usage_is_scripted_or_a_share_of_the_request() -> None:
    container = {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
    assert usage_of(ContainerScript({}, "a"), container) == (0.2, (1 << 30) // 10)
    assert usage_of(ContainerScript({}, "a"), {}) == (0.001, 8 << 20)
    assert usage_of(ContainerScript({f"{PREFIX}/cpu": "0", f"{PREFIX}/memory": "x"}, "a"), {}) == (0, 8 << 20)
