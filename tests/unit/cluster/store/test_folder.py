from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from steersman.cluster.store import Locked, Unusable
from steersman.cluster.store.folder import LOCK_FILE, DataFolder


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_private(tmp_path):
    folder = DataFolder.acquire(tmp_path / "deep" / "data")
    assert mode(folder.path) == 0o700
    assert mode(folder.path / LOCK_FILE) == 0o600
    folder.release()


def test_a_folder_that_is_there_keeps_its_permissions(tmp_path):
    tmp_path.chmod(0o755)
    DataFolder.acquire(tmp_path).release()
    assert mode(tmp_path) == 0o755


def test_a_second_opener_is_told_who_holds_the_folder(tmp_path):
    first = DataFolder.acquire(tmp_path)
    with pytest.raises(Locked, match=f"in use by process {os.getpid()}") as refused:
        DataFolder.acquire(tmp_path)
    assert refused.value.owner == os.getpid()
    first.release()
    first.release()
    DataFolder.acquire(tmp_path).release()


def test_the_lock_ends_with_its_process_however_that_ends(tmp_path):
    program = (
        "import sys, pathlib; from steersman.cluster.store.folder import DataFolder;"
        "DataFolder.acquire(pathlib.Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Locked, match=str(holder.pid)):
            DataFolder.acquire(tmp_path)
        holder.kill()
        holder.wait()
        DataFolder.acquire(tmp_path).release()


def test_a_file_in_the_folders_place_is_one_clear_sentence(tmp_path):
    (tmp_path / "data").write_text("")
    with pytest.raises(Unusable, match="data cannot be used: File exists"):
        DataFolder.acquire(tmp_path / "data")


@contextmanager
def as_nobody():
    """Root may read everything, so for a while be somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_an_unreadable_folder_is_one_clear_sentence(tmp_path):
    tmp_path.chmod(0)
    try:
        with as_nobody(), pytest.raises(Unusable, match="cannot be used: Permission denied"):
            DataFolder.acquire(tmp_path)
    finally:
        tmp_path.chmod(0o700)
