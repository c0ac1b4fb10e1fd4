"""What was skipped is counted on one line, with its reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_root(number):
    pytest.skip("needs root")

@pytest.mark.skip(reason="no originals: make originals")
def test_originals(): pass

@pytest.mark.skipif(True, reason="needs root")
def test_condition(): pass

@pytest.fixture
def absent():
    pytest.skip("no server\\nat all")

def test_fixture(absent): pass

@pytest.mark.xfail
def test_expected(): assert False

def test_fine(): pass
"""


@pytest.fixture(autouse=True)
def the_plugin_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


LINE = "skipped: 6 (4 needs root; 1 no originals: make originals; 1 no server)"


@pytest.mark.parametrize("workers", ([], ["-n", "2"]), ids=["one process", "xdist"])
def test_skips_are_counted_by_reason(pytester: pytest.Pytester, workers: list[str]) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "tests.support.skips", "-p", "no:asyncio", *workers)
    assert LINE in result.outlines
    assert result.ret == 0


def test_a_module_that_is_skipped_counts(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\npytest.importorskip('no_such_module', reason='no such module')")
    result = pytester.runpytest_subprocess("-p", "tests.support.skips", "-p", "no:asyncio")
    assert "skipped: 1 (1 no such module)" in result.outlines


def test_nothing_is_said_where_nothing_was_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_fine(): pass")
    result = pytester.runpytest_subprocess("-p", "tests.support.skips", "-p", "no:asyncio")
    assert result.ret == 0
    assert not [line for line in result.outlines if line.startswith("skipped")]
