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
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        pytest.param("apiserver", ["create: CPU", "get: CPU"], id="apiserver"),
        pytest.param(
            "access",
            [
                "create by service account: CPU",
                "get by service account: CPU",
                "apply, no change: CPU",
                "apply, change: CPU",
                "create, 2 CEL rules: CPU",
            ],
            id="access",
        ),
        pytest.param("operator", ["an object: CPU", "CPU until it is filled"], id="operator"),
    ],
)
def test_load_reaches_the_server(name: str, rows: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--quick"]) == 0
    output = capsys.readouterr().out
    assert [row for row in rows if row not in output] == []


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
