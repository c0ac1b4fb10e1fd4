"""What is kept of pods in files."""

from __future__ import annotations

from pathlib import Path

import msgspec

from steersman.cluster.node.process.records import ContainerRecord, Records, SandboxRecord, StateRecord

SANDBOX = SandboxRecord("s", "uid", "default", "pod", 2, 5.0, True, ("10.0.0.1",))
CONTAINER = ContainerRecord("c", "s", "main", 1, "host/sh", "ref", 6.0, ports=(80,), links=("/data",))


def test_what_was_kept_is_found_again(tmp_path: Path) -> None:
    Records(tmp_path).keep_sandbox(SANDBOX)
    Records(tmp_path).make_container("uid", CONTAINER)
    records = Records(tmp_path)
    assert records.uids() == ["uid"]
    assert records.sandbox("uid") == SANDBOX
    assert list(records.containers("uid")) == [(CONTAINER, None)]
    state = StateRecord("c", "exited", code=3)
    (records.container_folder("uid", "c") / "state.json").write_bytes(msgspec.json.encode(state))
    assert list(records.containers("uid")) == [(CONTAINER, state)]


def test_what_is_broken_or_missing_is_not_there(tmp_path: Path) -> None:
    records = Records(tmp_path)
    assert records.sandbox("uid") is None
    assert list(records.containers("uid")) == []
    (tmp_path / "pods" / "uid" / "containers" / "half-made").mkdir(parents=True)
    (tmp_path / "pods" / "uid" / "sandbox.json").write_text("{")
    assert records.sandbox("uid") is None
    assert list(records.containers("uid")) == []


def test_a_pod_is_removed_but_for_what_is_somebody_elses(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for uid in ("plain", "with-volumes"):
        records.keep_sandbox(msgspec.structs.replace(SANDBOX, uid=uid))
        records.make_container(uid, CONTAINER)
        records.log_path(uid, CONTAINER).write_text("said")
        closed = records.container_folder(uid, "c") / "upper" / "closed"
        closed.mkdir(parents=True, mode=0)
    volume = records.pod_folder("with-volumes") / "volumes"
    volume.mkdir()
    for uid in ("plain", "with-volumes"):
        records.remove_pod(uid)
    assert records.uids() == ["with-volumes"]
    assert list(records.pod_folder("with-volumes").iterdir()) == [volume]
    records.remove_everything("with-volumes")
    assert records.uids() == []


def test_a_container_is_removed_with_all_its_logs(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.make_container("uid", CONTAINER)
    other = msgspec.structs.replace(CONTAINER, id="d", attempt=11)
    records.make_container("uid", other)
    log = records.log_path("uid", CONTAINER)
    for path in (log, log.with_name("1.log.20260101-000000.000000"), records.log_path("uid", other)):
        path.write_text("said")
    records.remove_container("uid", CONTAINER)
    assert [path.name for path in log.parent.iterdir()] == ["11.log"]
    assert not records.container_folder("uid", "c").exists()
    assert records.container_folder("uid", "d").exists()
