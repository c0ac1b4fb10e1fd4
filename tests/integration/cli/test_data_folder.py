"""`steer up` on a folder of which parts are missing: what is made anew, and what is missed in one line."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.machine.ranges import LOOPBACK, ROUTED
from tests.support.steer import Steer, refused, running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a cluster that was up, with a Secret and a client certificate's authority, and was stopped in order."""
    folder = tmp_path_factory.mktemp("kept") / "cluster"
    with running("--nodes=1", data=folder) as server:
        keep_something(server)
    return folder


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "cluster", ignore=shutil.ignore_patterns("nodes")))


def keep_something(server: Steer) -> None:
    kept = {"metadata": {"name": "kept"}, "data": {"a": "b"}}
    assert server.api.post("/api/v1/namespaces/default/configmaps", kept).status == 201


def has_kept(server: Steer) -> bool:
    return server.api.get("/api/v1/namespaces/default/configmaps/kept").status == 200


def missed(folder: Path, *options: str) -> str:
    """What is said by a start that is refused."""
    code, said = refused("--data", str(folder), "--port", "0", "--nodes", "0", *options)
    assert code == 1
    assert said.count("\n") == 1
    return said.removeprefix("steer: ").rstrip()


def remove(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("names", [["store/store.db"], ["store"]], ids=["file", "folder"])
def test_a_store_that_is_gone_is_no_empty_cluster(names: list[str], copy: Path) -> None:
    remove(copy, *names)
    said = missed(copy)
    assert said.startswith(f"{copy}/store/store.db is missing, but {copy} contains the data of a cluster")
    assert "move the folder away to start with an empty cluster" in said
    assert not (copy / "store" / "store.db").exists()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: file.write_bytes(b""), "is corrupt: it is empty"),
        (lambda file: file.write_bytes(file.read_bytes()[:5000]), "is corrupt: "),
        (lambda file: file.write_bytes(file.read_bytes()[:-4096]), "is corrupt: "),
    ],
    ids=["empty", "cut short", "without its end"],
)
def test_half_a_store_is_none(damage: Callable[[Path], Any], said: str, copy: Path) -> None:
    file = copy / "store" / "store.db"
    damage(file)
    left = file.read_bytes()
    assert f"{file} {said}" in missed(copy)
    assert file.read_bytes() == left


KEYS = {
    "authority": (["ca.crt", "ca.key"], "ca.crt"),
    "its certificate": (["ca.crt"], "ca.crt"),
    "its key": (["ca.key"], "ca.key"),
    "key of service accounts": (["service-account.key"], "service-account.key"),
    "all keys": (["ca.crt", "ca.key", "service-account.key", "apiserver.crt", "apiserver.key"], "ca.crt"),
}


@pytest.mark.parametrize("what", KEYS)
def test_keys_that_objects_rely_on_are_made_anew_only_when_asked_for(what: str, copy: Path) -> None:
    names, first = KEYS[what]
    remove(copy, *names)
    said = missed(copy)
    assert said.startswith(
        f"{copy / first} is missing, and the stored objects depend on it: restore the file, or"
    )
    assert "--new-keys" in said
    assert not any((copy / name).exists() for name in names)
    with running("--new-keys", data=copy) as server:
        assert has_kept(server)


NOBODY_KEEPS = [
    "apiserver.crt", "apiserver.key", "admin.token", "kubeconfig", "front-proxy", "front-proxy/ca.key",
    "front-proxy/ca.crt", "system-node-node-1.crt",
]  # fmt: skip


@pytest.mark.parametrize("name", NOBODY_KEEPS)
def test_what_nobody_relies_on_is_made_anew(name: str, copy: Path) -> None:
    remove(copy, name)
    with running(data=copy) as server:
        assert has_kept(server)


@pytest.mark.parametrize("name", ["apiserver.crt", "apiserver.key", "admin.token"])
def test_what_nobody_relies_on_may_be_empty(name: str, copy: Path) -> None:
    (copy / name).write_bytes(b"")
    with running(data=copy) as server:
        assert has_kept(server)


def test_an_interrupted_first_start_is_a_first_start(copy: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    shutil.copy(copy / "ca.key", begun)
    with running(data=begun) as server:
        assert server.api.get("/readyz").status == 200


def test_own_keys_may_be_there_before_the_first_start(copy: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in ("ca.crt", "ca.key", "service-account.key"):
        shutil.copy(copy / name, own)
    with running(data=own) as server:
        assert server.api.get("/readyz").status == 200
    assert (own / "ca.crt").read_bytes() == (copy / "ca.crt").read_bytes()


def test_the_last_writes_are_missed(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    log = folder / "store" / "store.db-wal"
    with running(data=folder) as server:
        keep_something(server)
        server.process.kill()
        server.wait()
    assert log.exists()
    content = log.read_bytes()
    log.unlink()
    for _ in range(2):
        said = missed(folder)
        assert (
            f"store.db is corrupt: it was not closed, and {log.name} with the last writes is missing" in said
        )
    log.write_bytes(content)
    with running(data=folder) as server:
        assert has_kept(server)
        server.process.send_signal(signal.SIGKILL)
        server.wait()
    log.unlink()
    (folder / "store" / "store.lock").unlink()
    with running(data=folder) as server:
        assert server.api.get("/readyz").status == 200, "told to go on without them"


def test_services_keep_their_range_without_the_note_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    # One of those that clusters take last, so that no other has it as soon as it is free.
    candidates = (ROUTED if os.geteuid() == 0 else LOOPBACK)[-10:]
    services = str(candidates[os.getpid() % 10].services)
    with running("--nodes=1", f"--service-cidr={services}", data=folder):
        pass
    kept = json.loads((folder / "ranges.json").read_text())
    assert kept["services"] == services
    (folder / "ranges.json").unlink()
    with running("--nodes=1", data=folder):
        assert json.loads((folder / "ranges.json").read_text()) == kept


def test_a_folder_may_be_given_relative_to_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with running("--nodes=1", "--wait", data="cluster") as server:
        assert server.announced["kubeconfig"] == str(tmp_path / "cluster" / "kubeconfig")
        (node,) = server.api.get("/api/v1/nodes").json["items"]
        ready = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
        assert ready["status"] == "True"
