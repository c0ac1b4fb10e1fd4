"""Which ports answer in place of those that only root may have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.stand_ins import STAND_IN_PORTS, answering_port, chosen_stand_ins, stand_ins_text


@pytest.mark.parametrize(
    ("ports", "first_free", "expected"),
    [
        pytest.param([80], 1024, {80: 8080}, id="as people expect"),
        pytest.param([80, 443, 53], 1024, {53: 8053, 80: 8080, 443: 8443}, id="each its own"),
        pytest.param([80, 8080], 1024, {80: 18080}, id="the usual one is the service's"),
        pytest.param(
            [80, 8080, 18080, 28080, 38080, 48080, 58080], 1024, {80: 8000}, id="all usual ones are"
        ),
        pytest.param([1023, 1024], 1024, {1023: 9023}, id="only low ones"),
        pytest.param([80, 443], 1, {}, id="none where all may be had"),
        pytest.param([80, 443], 81, {80: 8080}, id="as low as the machine says"),
    ],
)
def test_stand_ins(ports: list[int], first_free: int, expected: dict[int, int]) -> None:
    assert chosen_stand_ins(ports, first_free) == expected


@given(st.sets(st.integers(1, 65535), max_size=40), st.sampled_from([1, 80, 1024]))
def test_no_stand_in_is_low_taken_or_used_twice(ports: set[int], first_free: int) -> None:
    found = chosen_stand_ins(ports, first_free)
    assert found.keys() == {port for port in ports if port < first_free}
    assert len({*found.values(), *ports}) == len(found) + len(ports)
    assert all(other >= first_free for other in found.values())


@pytest.mark.parametrize(
    ("annotations", "port", "expected"),
    [
        pytest.param({STAND_IN_PORTS: "80=8080,443=8443"}, 443, 8443, id="announced"),
        pytest.param({STAND_IN_PORTS: "80=8080"}, 8080, 8080, id="another port"),
        pytest.param({STAND_IN_PORTS: "80=x,,=,80"}, 80, 80, id="nonsense"),
        pytest.param({STAND_IN_PORTS: "80=0,80=65536,80=" + "9" * 5000}, 80, 80, id="no ports"),
        pytest.param({}, 80, 80, id="nothing is said"),
        pytest.param(None, 80, 80, id="no annotations"),
    ],
)
def test_where_a_port_answers(annotations: dict[str, str] | None, port: int, expected: int) -> None:
    service: dict[str, Any] = {"metadata": {"name": "a", "annotations": annotations}}
    assert answering_port(service, port) == expected


def test_what_is_said_is_understood() -> None:
    stand_ins = chosen_stand_ins([80, 443, 8080], 1024)
    service = {"metadata": {"annotations": {STAND_IN_PORTS: stand_ins_text(stand_ins)}}}
    assert {port: answering_port(service, port) for port in stand_ins} == stand_ins
