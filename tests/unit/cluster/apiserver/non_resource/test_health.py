"""/healthz, /livez and /readyz."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from steersman.cluster.apiserver.non_resource.health import Check, Health
from steersman.cluster.apiserver.pipeline.options import parse_query
from tests.unit.cluster.apiserver.asking import ask

GOOD: Mapping[str, Check] = {"ping": lambda: "", "log": lambda: ""}
BAD: Mapping[str, Check] = {"store": lambda: "disk secret/path is full"}


def get(target: str, ready: Mapping[str, Check] | None = None) -> tuple[int, str] | None:
    request = ask(target)
    answer = Health(GOOD, ready or {}).serve(request, parse_query(request.query_string))
    if answer is None:
        return None
    headers = dict(answer.headers)
    assert headers[b"Content-Type"] == b"text/plain; charset=utf-8"
    assert headers[b"X-Content-Type-Options"] == b"nosniff"
    assert isinstance(answer.body, bytes)
    return answer.status, answer.body.decode()


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
def test_all_is_well(endpoint: str) -> None:
    assert get(f"/{endpoint}") == (200, "ok")
    assert get(f"/{endpoint}/") is None
    assert get(f"/{endpoint}?verbose") == (200, f"[+]ping ok\n[+]log ok\n{endpoint} check passed\n")


def test_readiness_is_more_than_life() -> None:
    assert get("/livez", BAD) == (200, "ok")
    assert get("/readyz", BAD) == (
        500,
        "[+]ping ok\n[+]log ok\n[-]store failed: reason withheld\nreadyz check failed\n",
    )


def test_one_check_alone_says_its_reason() -> None:
    assert get("/livez/ping") == (200, "ok")
    assert get("/readyz/store", BAD) == (500, "internal server error: disk secret/path is full\n")


def test_excluded_checks_are_not_asked() -> None:
    assert get("/readyz?exclude=store", BAD) == (200, "ok")
    assert get("/readyz?verbose&exclude=store&exclude=log", BAD) == (
        200,
        "[+]ping ok\n[+]log excluded: ok\n[+]store excluded: ok\nreadyz check passed\n",
    )


def test_excluding_what_is_not_there_is_noted() -> None:
    assert get("/livez?verbose&exclude=nope&exclude=a%22") == (
        200,
        "[+]ping ok\n[+]log ok\nwarn: some health checks cannot be excluded: no matches for "
        '"a\\"","nope"\nlivez check passed\n',
    )


@pytest.mark.parametrize("path", ["/livez/nope", "/livez/store", "/health", "/", "/livezz", "/x/livez"])
def test_other_paths_are_not_answered(path: str) -> None:
    assert get(path, BAD) is None
