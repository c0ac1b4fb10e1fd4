"""The type checker agrees with what `custom_resources.py` says is right and wrong."""

from __future__ import annotations

from pathlib import Path

from mypy import api


def test_right_use_checks_and_wrong_use_does_not() -> None:
    here = Path(__file__).parent
    settings = here.parent.parent / "pyproject.toml"
    out, errors, code = api.run(
        ["--strict", "--config-file", str(settings), str(here / "custom_resources.py")]
    )
    assert code == 0, out + errors
