from __future__ import annotations

import os

import pytest

from steersman.raft.transport.tls import TlsFiles, names_match


@pytest.mark.parametrize(
    "certified, name, matches",
    [
        pytest.param(["a.b.c"], "a.b.c", True, id="same"),
        pytest.param(["A.b.C"], "a.B.c.", True, id="case and final dot"),
        pytest.param(["x", "a.b.c"], "a.b.c", True, id="one of several"),
        pytest.param(["*.b.c"], "a.b.c", True, id="wildcard"),
        pytest.param(["*.b.c"], "x.a.b.c", False, id="wildcard is one label"),
        pytest.param(["*"], "a", False, id="wildcard alone"),
        pytest.param(["*.c"], "c", False, id="wildcard needs a label"),
        pytest.param(["a.b"], "a.b.c", False, id="prefix"),
        pytest.param([], "a", False, id="no names"),
    ],
)
def test_a_certificates_names_are_compared(certified, name, matches):
    assert names_match(certified, name) is matches


def test_a_swapped_secret_is_noticed(tmp_path):
    """A Secret's volume is a link to a folder, which is replaced as a whole."""
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        for file in ("ca.crt", "tls.crt", "tls.key"):
            (tmp_path / version / file).write_text(version)
    os.symlink("1", tmp_path / "current")
    files = TlsFiles.folder(tmp_path / "current")
    before = files.stamp()
    assert files.stamp() == before
    os.symlink("2", tmp_path / "next")
    os.replace(tmp_path / "next", tmp_path / "current")
    assert files.stamp() != before
    assert files.read().cert == b"2"
