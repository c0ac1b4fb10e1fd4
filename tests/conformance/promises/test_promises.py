"""Every promise of the public suite that needs no container runtime has its test."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from .keeping import KEPT
from .test_pods_on_nodes import KEPT as KEPT_ON_NODES

HERE = Path(__file__).parent
#: The names of the public tests, one a line.
LISTS = HERE.parents[2].parent / "shared" / "facts" / "conformance"


#: The lists of which every promise is kept.
WHOLE = ("api-server", "aggregation", "webhooks", "controllers", "fake-kubelet", "scheduling")


def _names(*parts: str) -> list[str]:
    """The names without tags such as [Serial], which say how a test is run."""
    lines = [
        line for part in parts for line in (LISTS / f"{part}.txt").read_text().splitlines() if line.strip()
    ]
    return [" ".join(re.sub(r"\[[^]]*\]", "", line).split()) for line in lines]


@pytest.mark.skipif(not LISTS.exists(), reason="the lists of promises are not here")
def test_every_promise_is_kept() -> None:
    for file in HERE.glob("test_*.py"):
        import_module(f"tests.conformance.promises.{file.stem}")
    names = _names(*WHOLE)
    assert len(names) == len(set(names)) == 242
    kept = KEPT | KEPT_ON_NODES
    assert sorted(set(names) - kept) == []
    assert sorted(kept - set(names)) == []
