"""What happens to containers when the agent or the keeper dies, and that nothing is left at the end."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

from steersman.aio import Scope
from steersman.cluster.node.cri import ContainerState
from steersman.cluster.node.process.keeper.stragglers import marked
from steersman.testing import eventually
from tests.integration.nodes.process.engine_world import PATIENCE_S, World, engine_in, lives, run_engine

_TICKS = "n=0; while :; do n=$((n + 1)); echo tick $n; sleep 0.05; done"
#: An agent in a process of its own that starts two containers and waits to be killed.
_AGENT = """
import asyncio, sys
from pathlib import Path
from tests.integration.nodes.process.engine_world import engine_in

async def main() -> None:
    async with engine_in(Path(sys.argv[1])) as engine:
        ticking = await engine.shell(sys.argv[2], uid="ticking")
        ending = await engine.shell("read line < /dev/null; sleep 0.3; echo bye; exit 5", uid="ending")
        print(ticking, ending, flush=True)
        await asyncio.get_running_loop().create_future()

asyncio.run(main())
"""


def test_containers_outlive_an_agent_that_is_killed(tmp_path: Path) -> None:
    async def test() -> None:
        agent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _AGENT, str(tmp_path), _TICKS,
            stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[4],
        )  # fmt: skip
        assert agent.stdout is not None
        line = await asyncio.wait_for(agent.stdout.readline(), PATIENCE_S)
        ticking, ending = line.decode().split()
        agent.kill()
        await agent.wait()
        state = tmp_path / "node" / "pods" / "ending" / "containers" / ending / "state.json"
        await eventually(lambda: '"exited"' in state.read_text(), PATIENCE_S)
        async with engine_in(tmp_path) as engine:
            before = await engine.status(ticking)
            assert before.state is ContainerState.RUNNING
            status = await engine.status(ending)
            assert (status.exit_code, status.reason) == (5, "Error")
            assert 0 < status.started_at < status.finished_at
            assert engine.said(ending) == "bye"
            assert engine.addresses.taken == {
                one.ips[0] for uid in ("ticking", "ending") for one in await engine.list_pod_sandboxes(uid)
            }
            seen = engine.said(ticking).count("tick")
            await engine.says(ticking, f"tick {seen + 5}")
            await engine.stop_container(ticking, PATIENCE_S)
            ticks = engine.said(ticking).splitlines()
            assert ticks == [f"tick {number + 1}" for number in range(len(ticks))]

    asyncio.run(test())


def test_a_keeper_that_is_killed_takes_its_containers_along(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        quick = await engine.shell("exit 4", uid="quick")
        await engine.ended(quick)
        # With a child that hears of nothing by itself.
        running = await engine.shell("sleep 1000 & echo $!; wait")
        await eventually(lambda: engine.said(running), PATIENCE_S)
        keeper = (await (await engine._keeper()).call("hello"))["pid"]
        os.kill(keeper, signal.SIGKILL)
        status = await engine.ended(running)
        assert (status.exit_code, status.reason) == (137, "Error")
        assert (await engine.status(quick)).exit_code == 4
        again = await engine.start(status.sandbox_id, "sh", "-c", "echo again; exec sleep 1000", attempt=1)
        await engine.says(again, "again")
        assert (await engine.status(again)).state is ContainerState.RUNNING
        assert not lives(int(engine.said(running)))

    run_engine(test, tmp_path)


def test_both_killed_everything_has_ended(tmp_path: Path) -> None:
    async def first(engine: World) -> None:
        # With a child that has left its group and session.
        container = await engine.shell("setsid sleep 1000 & echo up; exec sleep 1000")
        await engine.says(container, "up")
        await eventually(lambda: len(marked(f"{engine._tag}/")) == 2, PATIENCE_S)
        (tmp_path / "tag").write_text(engine._tag)
        hello = await (await engine._keeper()).call("hello")
        await engine.create(await engine.sandbox("waiting"), "true")
        (tmp_path / "keeper").write_text(str(hello["pid"]))

    async def second(engine: World) -> None:
        (status,) = await engine.list_containers("pod-1")
        assert (status.state, status.exit_code) == (ContainerState.EXITED, 137)
        (created,) = await engine.list_containers("waiting")
        assert created.state is ContainerState.CREATED

    run_engine(first, tmp_path, stop_pods=False)
    os.kill(int((tmp_path / "keeper").read_text()), signal.SIGKILL)
    # Nobody has to be started for that.
    tag = (tmp_path / "tag").read_text()
    asyncio.run(eventually(lambda: not marked(f"{tag}/"), PATIENCE_S))
    run_engine(second, tmp_path)


def test_a_pod_can_be_removed_while_it_is_being_started(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        for number in range(5):
            sandbox = await engine.sandbox(f"pod-{number}")
            container = await engine.create(sandbox, "sleep", "1000")
            async with Scope() as scope:
                starting = scope.start(engine.start_container(container))
                while engine._container(container).starting is None:
                    await asyncio.sleep(0)
                starting.cancel()
            await engine.remove_pod_sandbox(sandbox)
        assert marked(f"{engine._tag}/") == []
        assert list((tmp_path / "node" / "pods").iterdir()) == []

    run_engine(test, tmp_path)


def test_what_was_being_started_when_the_agent_left_is_known_to_the_next(tmp_path: Path) -> None:
    async def first(engine: World) -> None:
        for number in range(5):
            container = await engine.create(await engine.sandbox(f"pod-{number}"), "sleep", "1000")
            link = await engine._keeper()
            asked = link._seq
            starting = asyncio.ensure_future(engine.start_container(container))
            # So that it was asked for, and not more.
            while link._seq == asked:
                await asyncio.sleep(0)
        starting.cancel()

    async def second(engine: World) -> None:
        states = [(await engine.list_containers(f"pod-{number}"))[0].state for number in range(5)]
        assert states == [ContainerState.RUNNING] * 5

    run_engine(first, tmp_path, stop_pods=False)
    run_engine(second, tmp_path)


def test_pods_nobody_knows_are_removed(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        kept = await engine.shell("exec sleep 1000", uid="kept")
        await engine.shell("trap '' TERM; while :; do sleep 1; done", uid="unknown")
        stray = tmp_path / "node" / "pods" / "stray" / "volumes"
        stray.mkdir(parents=True)
        await engine.forget_unknown({"kept"})
        assert await engine.list_containers("unknown") == ()
        assert await engine.list_pod_sandboxes("unknown") == ()
        assert [path.name for path in (tmp_path / "node" / "pods").iterdir()] == ["kept"]
        assert (await engine.status(kept)).state is ContainerState.RUNNING
        assert len(engine.addresses.taken) == 1

    run_engine(test, tmp_path)


def test_nothing_is_left_of_what_was_removed(tmp_path: Path) -> None:
    group = ""

    async def test(engine: World) -> None:
        nonlocal group
        link = await engine._keeper()
        hello = await link.call("hello")
        group = hello["group"]
        await _work(engine, "warm")
        before = _fds(os.getpid()), _fds(hello["pid"])
        for number in range(10):
            await _work(engine, f"pod-{number}")
        await eventually(lambda: (_fds(os.getpid()), _fds(hello["pid"])) == before, PATIENCE_S)
        assert list((tmp_path / "node" / "pods").iterdir()) == []
        assert engine.addresses.taken == set()
        assert marked(f"{engine._tag}/") == []
        if group:
            await eventually(lambda: not [one for one in Path(group).iterdir() if one.is_dir()], PATIENCE_S)
        assert (await link.call("hello"))["containers"] == []
        await engine.shell("sleep 1000 & sleep 1000", uid="until-the-end")

    run_engine(test, tmp_path)
    asyncio.run(eventually(lambda: not group or not Path(group).exists(), PATIENCE_S))
    assert not (tmp_path / "node" / "keeper.sock").exists()


async def _work(engine: World, uid: str) -> None:
    container = await engine.shell("echo up; exec sleep 1000", uid=uid, stdin=True)
    await engine.exec_sync(container, ["true"], PATIENCE_S)
    session = await engine.attach(container, stdin=True)
    await session.close()
    terminal = await engine.exec(container, ["sleep", "1000"], tty=True, stdin=True)
    await terminal.close()
    (sandbox,) = await engine.list_pod_sandboxes(uid)
    await engine.stop_container(container, PATIENCE_S)
    await engine.remove_pod_sandbox(sandbox.id)


def test_of_a_container_that_fails_again_and_again_only_the_last_are_kept(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        for attempt in range(5):
            container = await engine.start(sandbox, "sh", "-c", "exit 1", attempt=attempt)
            await engine.ended(container)
        assert [one.attempt for one in await engine.list_containers("pod-1")] == [4, 3]
        logs = tmp_path / "node" / "pods" / "pod-1" / "logs" / "main"
        assert sorted(path.name for path in logs.iterdir()) == ["3.log", "4.log"]

    run_engine(test, tmp_path)


def test_a_keeper_without_folder_or_agent_ends(tmp_path: Path) -> None:
    """Not at once, but by itself, and with everything it keeps."""

    async def leave(engine: World) -> None:
        container = await engine.shell("exec sleep 1000")
        (tmp_path / "tag").write_text(engine._tag)
        assert (await engine.status(container)).state is ContainerState.RUNNING

    run_engine(leave, tmp_path, stop_pods=False)
    tag = (tmp_path / "tag").read_text()
    assert marked(f"{tag}/")
    shutil.rmtree(tmp_path / "node")
    asyncio.run(eventually(lambda: not marked(f"{tag}/"), PATIENCE_S))
    run_engine(leave, tmp_path, stop_pods=False, alone_s=0.1)
    asyncio.run(eventually(lambda: not marked(f"{tag}/"), PATIENCE_S))


def _fds(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_a_keeper_with_nothing_to_keep_ends_when_its_agent_has_left(tmp_path: Path) -> None:
    socket = tmp_path / "node" / "keeper.sock"

    async def test(engine: World) -> None:
        ended = await engine.shell("exit 3")
        await engine.ended(ended)
        assert socket.exists()

    run_engine(test, tmp_path, stop_pods=False, alone_s=0.0)
    asyncio.run(eventually(lambda: not socket.exists(), PATIENCE_S))

    async def test_again(engine: World) -> None:
        (status,) = await engine.list_containers("pod-1")
        assert status.exit_code == 3

    run_engine(test_again, tmp_path)
