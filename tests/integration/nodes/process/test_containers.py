"""Containers as processes: how they start, what they say, how they end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from steersman.cluster.node.cri import ContainerState, Mount
from steersman.cluster.node.errors import NotHere, RuntimeFailed, StartFailed
from steersman.cluster.node.process.engine import Isolation
from steersman.testing import eventually
from tests.integration.nodes.process.engine_world import PATIENCE_S, World, engine_in, lives, run_engine

#: Both ways in which containers come to see their files.
ISOLATIONS: tuple[Isolation, ...] = ("best", "mirror", "none")
ISOLATION = pytest.mark.parametrize("isolation", ISOLATIONS)


def test_exit_codes_reasons_and_times(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        cases = {
            "exit 0": (0, "Completed"),
            "exit 3": (3, "Error"),
            "kill -TERM $$": (143, "Error"),
            "kill -KILL $$": (137, "Error"),
        }
        for number, (script, expected) in enumerate(cases.items()):
            container = await engine.start(sandbox, "sh", "-c", script, attempt=number)
            status = await engine.ended(container)
            assert (status.exit_code, status.reason) == expected, script
            assert status.created_at <= status.started_at <= status.finished_at
        assert any(event.container_id == container for event in engine.told)

    run_engine(test, tmp_path)


def test_log_has_both_streams_in_the_format_of_cri(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell("echo out; echo err >&2; printf 'no newline'")
        await engine.ended(container)
        lines = engine.log_path(container).read_text().splitlines()
        parts = sorted(line.split(" ", 1)[1] for line in lines)
        assert parts == ["stderr F err", "stdout F out", "stdout P no newline"]
        assert all(len(line.split(" ")[0]) == len("2006-01-02T15:04:05.000000000Z") for line in lines)

    run_engine(test, tmp_path)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("no-such-program",), 'exec: "no-such-program": executable file not found in $PATH'),
        (("/no/such",), 'exec: "/no/such": stat /no/such: no such file or directory'),
        (("/etc/passwd",), 'exec: "/etc/passwd": permission denied'),
    ],
    ids=["not in PATH", "not there", "no program"],
)
def test_what_cannot_run_says_why(tmp_path: Path, command: tuple[str, ...], words: str) -> None:
    async def test(engine: World) -> None:
        container = await engine.create(await engine.sandbox(), *command)
        with pytest.raises(RuntimeFailed) as failed:
            await engine.start_container(container)
        assert str(failed.value) == (
            f"unable to start container process: error during container init: {words}"
        )
        status = await engine.status(container)
        assert (status.state, status.exit_code, status.reason) == (ContainerState.EXITED, 128, "StartError")
        assert status.message == str(failed.value)

    run_engine(test, tmp_path)


def test_there_are_no_programs_in_a_folder_that_is_closed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    somebody = {"securityContext": {"runAsUser": 51000}} if os.geteuid() == 0 else {}

    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        path = {"PATH": f"{closed}:/usr/bin:/bin"}
        found = await engine.start(sandbox, "true", env=path, name="found", **somebody)
        assert (await engine.ended(found)).exit_code == 0
        missing = await engine.create(sandbox, "no-such-program", env=path, name="missing", **somebody)
        with pytest.raises(RuntimeFailed, match="executable file not found in"):
            await engine.start_container(missing)

    run_engine(test, tmp_path)


def test_stop_asks_first_and_kills_later(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        polite = await engine.start(
            sandbox, "sh", "-c", "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.1; done"
        )
        stubborn = await engine.start(
            sandbox, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done", name="stubborn"
        )
        quitting = await engine.start(
            sandbox, "sh", "-c", "trap 'exit 9' QUIT; echo up; while :; do sleep 0.1; done",
            name="quitting", lifecycle={"stopSignal": "SIGQUIT"},
        )  # fmt: skip
        for container in (polite, stubborn, quitting):
            await engine.says(container, "up")
        await engine.stop_container(polite, PATIENCE_S)
        assert (await engine.status(polite)).exit_code == 7
        assert "bye" in engine.said(polite)
        await engine.stop_container(stubborn, 0.2)
        assert (await engine.status(stubborn)).exit_code == 137
        await engine.stop_container(quitting, PATIENCE_S)
        assert (await engine.status(quitting)).exit_code == 9

    run_engine(test, tmp_path)


def test_a_program_does_not_ignore_what_the_nodes_shell_ignored(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        held = await engine.start(
            sandbox, "sh", "-c", "trap 'exit 9' QUIT; echo up; while :; do sleep 0.1; done",
            lifecycle={"stopSignal": "SIGQUIT"},
        )  # fmt: skip
        await engine.says(held, "up")
        await engine.stop_container(held, PATIENCE_S)
        assert (await engine.status(held)).exit_code == 9

    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        run_engine(test, tmp_path)
    finally:
        signal.signal(signal.SIGQUIT, before)


@ISOLATION
def test_nothing_of_a_container_outlives_it(tmp_path: Path, isolation: Isolation) -> None:
    """Not even what has left its process group, and does not hear signals."""

    async def test(engine: World) -> None:
        script = (
            "setsid sh -c 'trap \"\" TERM; echo $$ > /tmp/away; sleep 1000' & sleep 1000 & "
            "echo $! ; while ! test -s /tmp/away; do sleep 0.05; done; echo away $(cat /tmp/away); wait"
        ).replace("/tmp/away", str(tmp_path / "away"))
        mounts = (Mount(str(tmp_path), str(tmp_path)),)
        container = await engine.shell(script, mounts=mounts)
        await engine.says(container, "away")
        pids = [int(one) for one in engine.said(container).replace("away", "").split()]
        assert all(lives(pid) for pid in pids)
        await engine.stop_container(container, 0.1)
        await eventually(lambda: not any(lives(pid) for pid in pids), PATIENCE_S)

    run_engine(test, tmp_path, isolation=isolation)


@ISOLATION
def test_a_container_sees_its_mounts(tmp_path: Path, isolation: Isolation) -> None:
    async def test(engine: World) -> None:
        volume, config = tmp_path / "volume", tmp_path / "config"
        volume.mkdir()
        config.mkdir()
        (config / "greeting").write_text("hello")
        mounts = (Mount("/data/own", str(volume)), Mount("/etc/app/config", str(config), readonly=True))
        container = await engine.shell(
            'cat /etc/app/config/greeting; echo "$WHERE"; echo kept > /data/own/kept',
            mounts=mounts, env={"WHERE": "/data/own"},
        )  # fmt: skip
        assert (await engine.ended(container)).exit_code == 0, engine.said(container)
        assert "hello" in engine.said(container)
        assert (volume / "kept").read_text() == "kept\n"
        other = await engine.start(
            (await engine.status(container)).sandbox_id, "sleep", "1000", name="other", mounts=mounts
        )
        beside = await engine.exec_sync(other, ["cat", "/data/own/kept"], PATIENCE_S)
        assert beside.stdout == b"kept\n"
        assert not Path("/data/own").exists()
        assert not Path("/etc/app").exists()

    run_engine(test, tmp_path, isolation=isolation)


def test_a_container_has_the_name_of_its_pod(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        if engine.roots == "links":
            pytest.skip("this machine has no namespaces")
        container = await engine.shell("uname -n; exec sleep 1000", env={"HOSTNAME": "pod-name"})
        await engine.says(container, "pod-name")
        assert (await engine.exec_sync(container, ["uname", "-n"], PATIENCE_S)).stdout == b"pod-name\n"
        assert os.uname().nodename != "pod-name"

    run_engine(test, tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_files_of_a_container_are_its_own(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        if engine.roots != "overlay":
            pytest.skip("this machine has no overlays")
        name = f"/etc/steersman-test-{os.getpid()}"
        sandbox = await engine.sandbox()
        wrote = await engine.start(sandbox, "sh", "-c", f"echo mine > {name}; rm /etc/passwd; ls /etc/passwd")
        assert (await engine.ended(wrote)).exit_code != 0
        assert not Path(name).exists()
        assert Path("/etc/passwd").exists()
        other = await engine.start(sandbox, "sh", "-c", f"test ! -e {name}", name="other")
        assert (await engine.ended(other)).exit_code == 0
        fixed = await engine.start(
            sandbox, "sh", "-c", f"echo mine > {name}", name="fixed",
            securityContext={"readOnlyRootFilesystem": True},
        )  # fmt: skip
        assert (await engine.ended(fixed)).exit_code != 0
        assert "Read-only file system" in engine.said(fixed)
        assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()

    run_engine(test, tmp_path)


@ISOLATION
def test_last_words(tmp_path: Path, isolation: Isolation) -> None:
    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        said = await engine.start(sandbox, "sh", "-c", "printf done > /dev/termination-log; exit 1")
        assert (await engine.ended(said)).message == "done"
        own = await engine.start(
            sandbox, "sh", "-c", "printf mine > /var/words", name="own", terminationMessagePath="/var/words"
        )
        assert (await engine.ended(own)).message == "mine"
        fallen = await engine.start(
            sandbox, "sh", "-c", "for i in $(seq 200); do echo line $i; done; exit 2",
            name="fallen", terminationMessagePolicy="FallbackToLogsOnError",
        )  # fmt: skip
        message = (await engine.ended(fallen)).message
        assert message.splitlines()[-1] == "line 200"
        assert len(message.splitlines()) == 80

    run_engine(test, tmp_path, isolation=isolation)


def test_environment_and_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_NODE", "hidden")

    async def test(engine: World) -> None:
        container = await engine.shell("pwd; env", env={"A": "1 2"}, working_dir="/usr")
        await engine.ended(container)
        said = engine.said(container).splitlines()
        assert said[0] == "/usr"
        assert "A=1 2" in said
        assert any(line.startswith("PATH=") for line in said)
        assert not any("hidden" in line for line in said)

    run_engine(test, tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("isolation", ["best", "mirror"])
def test_runs_as_the_user_it_is_told_to(tmp_path: Path, isolation: Isolation) -> None:
    async def test(engine: World) -> None:
        engine.notice(
            {
                "metadata": {"uid": "pod-1"},
                "spec": {"securityContext": {"runAsUser": 1234, "fsGroup": 77, "supplementalGroups": [88]}},
            }
        )
        sandbox = await engine.sandbox()
        container = await engine.start(
            sandbox, "sh", "-c", "id -u; id -g; id -G; printf x > /dev/termination-log",
            securityContext={"runAsGroup": 55},
        )  # fmt: skip
        status = await engine.ended(container)
        assert engine.said(container).splitlines() == ["1234", "55", "55 77 88"]
        assert status.message == "x"
        with pytest.raises(StartFailed) as refused:
            await engine.create(
                sandbox, "true", name="r", securityContext={"runAsUser": 0, "runAsNonRoot": True}
            )
        assert refused.value.reason == "CreateContainerConfigError"
        assert refused.value.message.startswith("container's runAsUser breaks non-root policy (pod: ")

    run_engine(test, tmp_path, isolation=isolation)


def test_rights_cannot_grow_where_that_is_forbidden(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        for number, expected in enumerate((False, True)):
            container = await engine.start(
                sandbox, "grep", "NoNewPrivs", "/proc/self/status", name=f"c{number}",
                securityContext={"allowPrivilegeEscalation": not expected},
            )  # fmt: skip
            await engine.ended(container)
            assert engine.said(container).split() == ["NoNewPrivs:", str(int(expected))]

    run_engine(test, tmp_path)


def test_too_much_memory_is_refused(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.start(
            await engine.sandbox(), "python3", "-c", "x = bytearray(300_000_000)",
            resources={"limits": {"memory": "100Mi"}},
        )  # fmt: skip
        status = await engine.ended(container)
        assert status.exit_code != 0
        assert status.reason == "OOMKilled" or "MemoryError" in engine.said(container)

    run_engine(test, tmp_path)


@ISOLATION
def test_images_are_programs_of_the_machine_or_registered_folders(
    tmp_path: Path, isolation: Isolation
) -> None:
    async def test(engine: World) -> None:
        folder = tmp_path / "shop"
        (folder / "opt").mkdir(parents=True)
        (folder / "opt" / "serve.sh").write_text("echo serving $1 as $ROLE from $(pwd); exit 4\n")
        (folder / "image.json").write_text(
            '{"entrypoint": ["sh", "%s"], "cmd": ["all"], "env": {"ROLE": "shop"}, "workingDir": "/usr"}'
            % ("/opt/serve.sh" if engine.roots != "links" else folder / "opt" / "serve.sh")
        )
        engine.index.add("shop:1", folder)
        sandbox = await engine.sandbox()
        container = await engine.start(sandbox, image="shop:1")
        assert (await engine.ended(container)).exit_code == 4
        assert engine.said(container) == "serving all as shop from /usr"
        echo = await engine.start(sandbox, image="host/echo", args=("a", "b"), name="echo")
        await engine.ended(echo)
        assert engine.said(echo) == "a b"
        pause = await engine.start(sandbox, image="registry.k8s.io/pause:3.10", name="pause")
        await engine.stop_container(pause, PATIENCE_S)
        assert (await engine.status(pause)).exit_code in (0, 143)
        with pytest.raises(NotHere, match="use host/<program>"):
            await engine.create(sandbox, image="nginx:1.27", name="unknown")

    run_engine(test, tmp_path, isolation=isolation)


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        script = (
            "import socket, sys; s = socket.socket(); s.bind(('0.0.0.0', int(sys.argv[1]))); "
            "s.listen(); print(s.getsockname()[1], flush=True); import time; time.sleep(1000)"
        )
        first = await engine.start(await engine.sandbox("a"), "python3", "-c", script, "0")
        await eventually(lambda: engine.said(first), PATIENCE_S)
        port = int(engine.said(first))
        second = await engine.start(
            await engine.sandbox("b"), "python3", "-c", script, str(port), ports=[{"containerPort": port}]
        )
        await engine.ended(second)
        assert engine.conflicts == [("b", "main", port)]

    run_engine(test, tmp_path)


def test_usage_is_measured(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell("echo up; while :; do :; done")
        await engine.says(container, "up")

        def busy() -> bool:
            usage = engine.pod_sandbox_stats("pod-1")["main"]
            return usage.cpu_cores > 0.05 and usage.memory_bytes > 100_000

        await eventually(busy, PATIENCE_S)
        await engine.stop_container(container, 0)
        assert engine.pod_sandbox_stats("pod-1") == {}

    for isolation in ISOLATIONS:
        run_engine(test, tmp_path, isolation=isolation)
        # The folder is another engine's next.
        (tmp_path / "node").rename(tmp_path / f"node-{isolation}")


def test_two_engines_of_one_folder_are_one_node(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell("sleep 1000")
        async with engine_in(tmp_path, stop_pods=False) as other:
            assert [one.id for one in await other.list_containers("pod-1")] == [container]
            await other.stop_container(container, 0)
        assert (await engine.ended(container)).exit_code in (137, 128 + signal.SIGTERM)

    run_engine(test, tmp_path)
