"""The values of one node label: by row, and the rows of each value. Kept by `NodeTable`."""

from __future__ import annotations

__all__ = ["LabelColumn"]


class LabelColumn:
    """The values of one label. None is the value of nodes without the label; rows without a node are in no
    group.
    """

    __slots__ = ("rows", "values")

    def __init__(self) -> None:
        self.values: list[str | None] = []
        self.rows: dict[str | None, set[int]] = {}

    def put(self, row: int, value: str | None) -> None:
        self.remove(row)
        self.values.extend([None] * (row + 1 - len(self.values)))
        self.values[row] = value
        self.rows.setdefault(value, set()).add(row)

    def remove(self, row: int) -> None:
        if row >= len(self.values):
            return
        value = self.values[row]
        rows = self.rows.get(value)
        if rows is not None:
            rows.discard(row)
            if not rows:
                del self.rows[value]
        self.values[row] = None
