"""One closing line that counts what was skipped, with the reasons: what did not run was not proved.

A plugin of pytest. Under xdist the workers' reports arrive here like a single process's own.
"""

from __future__ import annotations

from collections import Counter

import pytest

__all__ = ["pytest_terminal_summary", "summary"]


def summary(reasons: list[str]) -> str:
    """`skipped: 12 (8 no Go originals: make originals; 4 needs root)`, the most frequent reason first."""
    counted = sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0]))
    return f"skipped: {len(reasons)} ({'; '.join(f'{count} {reason}' for reason, count in counted)})"


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.write_line(summary([_reason(report) for report in skipped]))


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why, in one line; what pytest says of a skip is its file, line and reason."""
    said = report.longrepr
    text = said[2] if isinstance(said, tuple) else str(said)
    lines = text.removeprefix("Skipped: ").strip().splitlines()
    return lines[0] if lines else "no reason given"
