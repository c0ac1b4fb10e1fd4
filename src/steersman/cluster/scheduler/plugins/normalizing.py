"""Normalizing scores to 0–100 by the highest of them (DefaultNormalizeScore)."""

from __future__ import annotations

from collections.abc import Sequence

from steersman.cluster.scheduler.framework.plugin import MAX_SCORE

__all__ = ["by_highest"]


def by_highest(scores: Sequence[int], *, reverse: bool = False) -> Sequence[int]:
    """The highest becomes 100; with `reverse`, zero does."""
    highest = max(scores, default=0)
    if highest <= 0:
        return [MAX_SCORE] * len(scores) if reverse else scores
    if reverse:
        return [MAX_SCORE - MAX_SCORE * score // highest for score in scores]
    return [MAX_SCORE * score // highest for score in scores]
