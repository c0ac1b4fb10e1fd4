"""The benchmarks as they are called, with the smallest numbers: so that they do not rot."""

from __future__ import annotations

import json
import shutil

import pytest

from benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.slow
@pytest.mark.parametrize("name", ["start", "watch"])
def test_runs_without_failures(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--quick", "--output", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    tables = report["benchmarks"][name]["tables"]
    assert all(row["value"] is not None for table in tables for row in table["rows"])
    assert [table["failures"] for table in tables] == [[] for _ in tables]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed")
def test_load_reaches_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apiserver", "--quick"]) == 0
    assert "create: CPU" in capsys.readouterr().out


def test_without_wrk_one_line_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main(["soak", "--quick"]) == 1
    assert "FAILED: wrk is not installed" in capsys.readouterr().out


def test_an_unknown_name_lists_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["unknown"])
    assert ", ".join(BENCHMARKS) in capsys.readouterr().err
