"""Scenario files: small stories that read like the paper's figures, with what must come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.raft.runner import Scenario, blocks, run_block

_FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in _FILES])
def test_scenario(path: Path) -> None:
    scenario = Scenario()
    for block in blocks(path.read_text(encoding="utf-8")):
        assert run_block(scenario, block) == block.expected.rstrip("\n"), block.head
