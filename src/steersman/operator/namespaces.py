"""Namespaces that are chosen by their labels: an operator's caches follow them as they come and go.

A namespace that no longer fits is as if all its objects had been deleted: nothing is done for them any more,
and nothing is cleaned up either.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from steersman.objects.resources import NAMESPACES
from steersman.runtime import Change, Informer, Manager

__all__ = ["ChosenNamespaces"]

_log = logging.getLogger(__name__)


class ChosenNamespaces:
    """Keeps informers at the namespaces with some labels. Runs with the manager, also while standing by."""

    def __init__(self, manager: Manager, selector: str, informers: Collection[Informer]) -> None:
        self._chosen = manager.informers.get(NAMESPACES, labels=selector, metadata_only=True)
        self._informers = [informer for informer in informers if informer.resource.namespaced]
        self._selector = selector
        self._now: set[str] = set()
        self._chosen.add_handler(self._on_change)

    def _on_change(self, change: Change) -> None:
        chosen = {cached.key.name for cached in self._chosen.cache}
        if chosen == self._now:
            return
        come, gone = sorted(chosen - self._now), sorted(self._now - chosen)
        self._now = chosen
        _log.info(
            "namespaces with %s: %s",
            self._selector,
            ", ".join([*(f"{name} was added" for name in come), *(f"{name} was deleted" for name in gone)]),
        )
        for informer in self._informers:
            informer.watch_namespaces(chosen)
