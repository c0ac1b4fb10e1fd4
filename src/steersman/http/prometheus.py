"""Metrics in Prometheus' text format.

`exposed` writes families of `prometheus_client`, which is loaded when it is called: that takes longer than to
answer. Where a scrape must cost little, lines are written by hand, with `family` and `label_pairs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["CONTENT_TYPE", "exposed", "family", "label_pairs"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Characters of a label's value that stand for something else.
_SPECIAL = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def family(name: str, kind: str, text: str) -> tuple[str, str]:
    """The two lines above the samples of a metric."""
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def label_pairs(labels: Mapping[str, str]) -> str:
    """What stands between a sample's braces."""
    return ",".join([f'{name}="{str(value).translate(_SPECIAL)}"' for name, value in labels.items()])


def exposed(metrics: Iterable[Metric], *, process: bool = False) -> bytes:
    """These metrics as text; with `process`, also those of this process."""
    from prometheus_client.core import CollectorRegistry
    from prometheus_client.exposition import generate_latest
    from prometheus_client.process_collector import ProcessCollector

    class Collector:
        def collect(self) -> Iterable[Metric]:
            return metrics

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    if process:
        ProcessCollector(registry=registry)
    return generate_latest(registry)
