"""The ImageLocality plugin: scores nodes higher that have the pod's images already.

An image counts with its size times the fraction of nodes that have it, so that a single node with a rare
image does not get all the pods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import MAX_SCORE
from steersman.cluster.scheduler.framework.verdicts import SKIP, Skip
from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["ImageLocality"]

_MB: Final = 1024 * 1024
_LEAST: Final = 23 * _MB
_MOST_EACH: Final = 1000 * _MB
_KEPT: Final = 64


class ImageLocality:
    name = "ImageLocality"

    def __init__(self, handle: Handle) -> None:
        self._nodes = handle.nodes
        self._columns: dict[tuple[str, ...], list[int]] = {}
        self._seen = 0

    def pre_score(self, cycle: CycleState, pod: PodInfo) -> Skip | None:
        if not self._nodes.images:
            return SKIP
        wanted = tuple(_tagged(image) for image in (*pod.images, *pod.volumes.images))
        if not any(image in self._nodes.images for image in wanted):
            return SKIP
        cycle.write(self.name, wanted)
        return None

    def score_rows(self, cycle: CycleState, pod: PodInfo, rows: Sequence[int]) -> Sequence[int]:
        column = self._column(cycle.read(self.name, tuple))
        return list(map(column.__getitem__, rows))

    def _column(self, wanted: tuple[str, ...]) -> list[int]:
        """The scores of all rows for pods with these images, remembered until images are elsewhere."""
        if self._seen != self._nodes.images_changed or len(self._columns) > _KEPT:
            self._columns.clear()
            self._seen = self._nodes.images_changed
        column = self._columns.get(wanted)
        if column is None:
            nodes = self._nodes.rows
            column = [0 if node is None else self._score(node.facts.images, wanted) for node in nodes]
            self._columns[wanted] = column
        return column

    def _score(self, present: Mapping[str, int], wanted: Sequence[str]) -> int:
        everywhere, count = self._nodes.images, len(self._nodes)
        size = sum(int(present[image] * (everywhere[image] / count)) for image in wanted if image in present)
        most = _MOST_EACH * len(wanted)
        return MAX_SCORE * (min(max(size, _LEAST), most) - _LEAST) // (most - _LEAST)


def _tagged(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
