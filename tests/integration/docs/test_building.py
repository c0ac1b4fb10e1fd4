"""The guide builds, without a single warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.docs.pages import DOCS, PAGES


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_guide_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="needs `pip install 'steersman[docs]'`")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d", str(tmp_path / "trees")]
    built = subprocess.run([*command, str(DOCS), str(site)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert not built.stderr
    for page in PAGES:
        assert (site / page.relative_to(DOCS).with_suffix(".html")).exists()
    assert "steer raft transfer" in (site / "reference/command-line.html").read_text()
    assert "set_condition" in (site / "reference/operator.html").read_text()
