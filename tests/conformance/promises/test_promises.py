"""Every promise of the public suite has its test."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path

from tests.recordings import FACTS

from .keeping import KEPT
from .prepared import KEPT as KEPT_PREPARED
from .running import KEPT as KEPT_RUNNING
from .serving import KEPT as KEPT_SERVING
from .test_pods_on_nodes import KEPT as KEPT_ON_NODES

HERE = Path(__file__).parent
#: The names of the public tests, one a line.
LISTS = FACTS / "promises"

#: The lists of which every promise is kept.
WHOLE = (
    "api-server",
    "aggregation",
    "webhooks",
    "controllers",
    "fake-kubelet",
    "scheduling",
    "containers",
    "networking",
)
#: That of nodes, some of whose promises only root can keep: other users, and mounts.
OF_NODES = "kubelet"


def _lines(part: str) -> list[str]:
    return [line for line in (LISTS / f"{part}.txt").read_text().splitlines() if line.strip()]


def _name(line: str) -> str:
    """Without tags such as [Serial], which say how a test is run."""
    return " ".join(re.sub(r"\[[^]]*\]", "", line).split())


def test_every_promise_is_kept() -> None:
    for file in HERE.glob("test_*.py"):
        import_module(f"tests.conformance.promises.{file.stem}")
    whole = [_name(line) for part in WHOLE for line in _lines(part)]
    nodes = [_name(line) for line in _lines(OF_NODES)]
    public = {*whole, *nodes}
    assert len(whole) + len(nodes) == len(public) == 465
    kept = KEPT | KEPT_ON_NODES | KEPT_PREPARED | KEPT_RUNNING | KEPT_SERVING
    expected = public if os.geteuid() == 0 else set(whole)
    assert sorted(expected - kept) == []
    assert sorted(kept - public) == []
