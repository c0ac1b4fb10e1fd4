"""Log lines carry what they are about."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from steersman.runtime import logs
from steersman.runtime.keys import Key

log = logging.getLogger("tests.logs")


@pytest.fixture(autouse=True)
def _root_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_json_where_nobody_reads_along() -> None:
    stream = io.StringIO()
    logs.set_up(stream=stream)
    with logs.bound(controller="webapp", object=Key("shop", "web"), reasons=("added", "retry"), attempt=2):
        log.info("hello %s", "there")
    log.info("outside")
    inside, outside = map(json.loads, stream.getvalue().splitlines())
    assert inside.pop("time").endswith("Z")
    assert inside == {
        "level": "info",
        "logger": "tests.logs",
        "message": "hello there",
        "controller": "webapp",
        "object": "shop/web",
        "reasons": ["added", "retry"],
        "attempt": 2,
    }
    assert "controller" not in outside


def test_lines_are_text_on_a_terminal() -> None:
    stream = Terminal()
    logs.set_up(stream=stream)
    with logs.bound(object=Key("shop", "web"), reasons=("Deployment shop/web modified",)):
        log.warning("hello")
    line = stream.getvalue().strip()
    assert line[12:] == ' WARNING hello  object=shop/web reasons="Deployment shop/web modified"'


def test_errors_bring_their_stack() -> None:
    stream = io.StringIO()
    logs.set_up(stream=stream)
    try:
        raise ValueError("bad")
    except ValueError:
        log.exception("failed")
    line = json.loads(stream.getvalue())
    assert (line["error"], line["error_type"]) == ("bad", "ValueError")
    assert line["traceback"].startswith("Traceback")


def test_setting_up_again_replaces_only_our_handler() -> None:
    other = logging.NullHandler()
    root = logging.getLogger()
    root.addHandler(other)
    before = len(root.handlers)
    logs.set_up(stream=io.StringIO(), style="json")
    second = logs.set_up(stream=io.StringIO(), style="text", level="WARNING")
    assert len(root.handlers) == before + 1
    assert other in root.handlers
    assert second in root.handlers
    assert root.level == logging.WARNING


def test_bound_fields_add_up_and_end() -> None:
    with logs.bound(a=1):
        with logs.bound(b=2):
            assert logs.fields() == {"a": 1, "b": 2}
        assert logs.fields() == {"a": 1}
    assert logs.fields() == {}
