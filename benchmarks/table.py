"""Tables of measurements, for people (aligned text) and for programs (JSON).

Every benchmark returns `Table`s; `__main__` prints them. Knows nothing of what is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Measurement", "Table", "render"]

_GREEN, _RED, _BOLD, _RESET = "\x1b[32m", "\x1b[31m", "\x1b[1m", "\x1b[0m"
_HEADINGS = ("", "measured", "unit", "peer", "better by", "bar", "")


@dataclass(frozen=True, slots=True)
class Measurement:
    name: str
    value: float
    unit: str
    #: What another program needs for the same on the same kind of machine: `Table.peer_name`.
    peer: float | None = None
    #: What this project asks of itself.
    bar: float | None = None
    more_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer: 2.0 is half the cost, or twice the rate."""
        if self.peer is None or not self.value:
            return None
        return self.value / self.peer if self.more_is_better else self.peer / self.value

    @property
    def met(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value >= self.bar if self.more_is_better else self.value <= self.bar

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "value": self.value, "unit": self.unit,
            "peer": self.peer, "ratio": self.ratio, "bar": self.bar, "met": self.met,
        }  # fmt: skip


@dataclass(slots=True)
class Table:
    title: str
    rows: list[Measurement] = field(default_factory=list)
    #: What a reader must know to judge the figures.
    notes: list[str] = field(default_factory=list)
    #: What went wrong: an answer that was not 2xx, an event that did not come. None is acceptable.
    failures: list[str] = field(default_factory=list)
    #: Whom the rows are compared to.
    peer_name: str = "kube-apiserver"

    def add(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        peer: float | None = None,
        bar: float | None = None,
        more_is_better: bool = False,
    ) -> None:
        self.rows.append(Measurement(name, value, unit, peer, bar, more_is_better))

    def check(self, holds: bool, failure: str) -> None:
        if not holds:
            self.failures.append(failure)

    def as_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "peer_name": self.peer_name,
            "rows": [row.as_json() for row in self.rows],
            "notes": self.notes,
            "failures": self.failures,
        }


def render(table: Table, *, colour: bool) -> str:
    """The table as text; columns that would be empty are left out."""
    headings = tuple(table.peer_name if name == "peer" else name for name in _HEADINGS)
    lines = [headings, *map(_cells, table.rows)]
    used = [column for column in range(len(_HEADINGS)) if any(line[column] for line in lines[1:])]
    widths = {column: max(len(line[column]) for line in lines) for column in used}
    text = [_paint(table.title, _BOLD, colour)]
    for number, line in enumerate(lines):
        padded = "  ".join(_pad(line[column], widths[column], column) for column in used).rstrip()
        met = table.rows[number - 1].met if number else None
        text.append("  " + (padded if met is None else _paint(padded, _GREEN if met else _RED, colour)))
    text += _remarks(table.notes, "  note: ")
    text += [_paint(line, _RED, colour) for line in _remarks(table.failures, "  FAILED: ")]
    return "\n".join(text) + "\n"


def _remarks(remarks: Iterable[str], prefix: str) -> list[str]:
    return [prefix + remark for remark in remarks]


def _cells(row: Measurement) -> Sequence[str]:
    ratio, met = row.ratio, row.met
    return (
        row.name,
        _figure(row.value),
        row.unit,
        "" if row.peer is None else _figure(row.peer),
        "" if ratio is None else f"{_figure(ratio)}x",
        "" if row.bar is None else f"{'>=' if row.more_is_better else '<='} {_figure(row.bar)}",
        "" if met is None else ("met" if met else "MISSED"),
    )


def _figure(value: float) -> str:
    """Three digits that matter; whole numbers from a hundred on."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.3f}"


def _pad(text: str, width: int, column: int) -> str:
    is_text = _HEADINGS[column] in ("", "unit")
    return text.ljust(width) if is_text else text.rjust(width)


def _paint(text: str, code: str, colour: bool) -> str:
    return f"{code}{text}{_RESET}" if colour else text
