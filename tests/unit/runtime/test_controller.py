"""What happens around a reconcile function."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Conflict
from steersman.runtime import logs
from steersman.runtime.controller import Controller
from steersman.runtime.errors import ReconcileTimeout, Requeue, TerminalError
from steersman.runtime.keys import Key
from steersman.runtime.predicates import generation_changed
from steersman.runtime.requests import Outcome, Request, Result
from tests.sim.virtual_time import VirtualClock, run_virtual
from tests.unit.runtime.shelf import DEPLOYMENTS, WEBAPPS, Shelf

WEB = Key("ns", "web")


class Calls:
    """A reconcile that notes its calls and does what a test says: one answer after the other."""

    def __init__(self, *answers: Result | BaseException | Callable[[], Awaitable[Result | None]]) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.times: list[float] = []

    async def __call__(self, request: Request) -> Result | None:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        if not self.answers:
            return None
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Result) else await answer()

    @property
    def keys(self) -> list[str]:
        return [str(request.key) for request in self.requests]


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator[None]:
    async with Scope() as scope:
        task = scope.start(controller.run())
        await asyncio.sleep(0)
        yield
        controller.stop()
        await task


def one_run(calls: Calls, lasting_s: float = 1000.0, **options: Any) -> Controller:
    """Reconcile `web` once and let time pass."""
    controller = Controller("webapp", calls, clock=VirtualClock(), **options)

    async def main() -> None:
        async with running(controller):
            controller.enqueue(WEB, "test")
            await asyncio.sleep(lasting_s)

    run_virtual(main())
    return controller


def test_every_object_is_reconciled_at_start_and_after_each_change() -> None:
    calls = Calls()
    shelf = Shelf()

    async def main() -> None:
        shelf.put("a")
        controller = Controller("webapp", calls, clock=VirtualClock()).primary(shelf)
        async with running(controller):
            await asyncio.sleep(1)
            shelf.put("a")
            await asyncio.sleep(1)
            shelf.put("a", deleted=True)
            await asyncio.sleep(1)
        shelf.put("b")
        await asyncio.sleep(1)

    run_virtual(main())
    assert [request.reasons for request in calls.requests] == [("initial",), ("modified",), ("deleted",)]
    assert len({request.reconcile_id for request in calls.requests}) == 3


def test_fresh_events_go_before_the_initial_list_and_resyncs() -> None:
    calls = Calls()
    shelf = Shelf()

    async def main() -> None:
        for name in ("a", "b", "c"):
            shelf.put(name)
        controller = Controller("webapp", calls, clock=VirtualClock(), concurrency=1).primary(shelf)
        async with Scope() as scope:
            task = scope.start(controller.run())
            await asyncio.sleep(0)
            shelf.put("fresh")
            await asyncio.sleep(1)
            shelf.resync()
            shelf.put("c")
            await asyncio.sleep(1)
            controller.stop()
            await task

    run_virtual(main())
    assert calls.keys[0] == "ns/fresh"
    assert calls.keys[4] == "ns/c"
    assert sorted(calls.keys[5:]) == ["ns/a", "ns/b", "ns/fresh"]
    assert calls.requests[4].reasons == ("resync", "modified")


def test_changes_of_owned_objects_reconcile_their_owner() -> None:
    calls = Calls()
    deployments = Shelf(DEPLOYMENTS)

    def owner(kind: str = "WebApp", name: str = "web", group: str = "example.com/v2", **more: Any) -> Any:
        return {"apiVersion": group, "kind": kind, "name": name, "uid": "u", "controller": True, **more}

    async def main() -> None:
        controller = Controller("webapp", calls, clock=VirtualClock()).owns(deployments, WEBAPPS)
        async with running(controller):
            deployments.put("child", ownerReferences=[owner()])
            await asyncio.sleep(1)
            deployments.put("child", ownerReferences=[owner(name="other")])
            await asyncio.sleep(1)
            deployments.put("stranger", ownerReferences=[owner(kind="Other"), owner(group="other.com/v1")])
            deployments.put("loose", ownerReferences=[owner(controller=False)])
            deployments.put("orphan")
            await asyncio.sleep(1)

    run_virtual(main())
    assert calls.keys[0] == "ns/web"
    assert sorted(calls.keys[1:]) == ["ns/other", "ns/web"], "the old owner hears of its loss"
    assert calls.requests[0].reasons == ("Deployment ns/child added",)


def test_watches_map_changes_and_predicates_drop_them() -> None:
    calls = Calls()
    config = Shelf(DEPLOYMENTS)

    async def main() -> None:
        controller = Controller("webapp", calls, clock=VirtualClock())
        controller.watches(
            config, lambda _: [Key("ns", "x"), Key("ns", "y")], generation_changed, reason="cfg"
        )
        async with running(controller):
            config.put("c", generation=1)
            config.put("c", generation=1, labels={"a": "b"})
            await asyncio.sleep(1)
            config.put("c", generation=2)
            await asyncio.sleep(1)

    run_virtual(main())
    assert calls.keys == ["ns/x", "ns/y"] * 2
    assert calls.requests[0].reasons == ("cfg",)


@pytest.mark.parametrize(
    ("answer", "times", "result"),
    [
        pytest.param(Result.done(), [0], "success", id="done"),
        pytest.param(Result.requeue(30), [0, 30], "requeue_after", id="requeue after"),
        pytest.param(Result.requeue(), [0, 1], "requeue", id="requeue with backoff"),
        pytest.param(Requeue(30), [0, 30], "requeue_after", id="raised requeue"),
        pytest.param(Requeue(), [0, 1], "requeue", id="raised requeue with backoff"),
        pytest.param(ValueError("bad"), [0, 1], "error", id="error"),
        pytest.param(Conflict(409, "Conflict", "changed"), [0, 1], "error", id="API error"),
        pytest.param(SystemExit(3), [0, 1], "error", id="panic"),
        pytest.param(KeyboardInterrupt(), [0, 1], "error", id="interrupt"),
        pytest.param(asyncio.CancelledError(), [0, 1], "error", id="cancelled inside"),
        pytest.param(TerminalError("no"), [0], "error", id="terminal"),
    ],
)
def test_how_a_reconcile_ends_decides_when_it_runs_again(
    answer: Result | BaseException, times: list[float], result: str
) -> None:
    calls = Calls(answer)
    outcomes: list[Outcome] = []
    controller = one_run(calls, after=lambda _, outcome: outcomes.append(outcome))
    assert calls.times == times
    assert controller.metrics.results[result] == 1
    assert controller.metrics.terminal_errors == isinstance(answer, TerminalError)
    panics = (SystemExit, KeyboardInterrupt, asyncio.CancelledError)
    assert controller.metrics.panics == isinstance(answer, panics)
    assert outcomes[0].result == result
    assert outcomes[0].again_after_s == (times[1] if len(times) > 1 else None)


def test_failures_back_off_per_key() -> None:
    calls = Calls(*[ValueError("bad")] * 4)
    one_run(calls)
    assert calls.times == [0, 1, 3, 7, 15]
    assert [request.attempt for request in calls.requests] == [1, 2, 3, 4, 5]


def test_a_reconcile_that_takes_too_long_is_cut_off_and_retried() -> None:
    async def hang() -> None:
        await asyncio.sleep(1e6)

    calls = Calls(hang)
    outcomes: list[Outcome] = []
    controller = one_run(calls, timeout_s=20, after=lambda _, outcome: outcomes.append(outcome))
    assert calls.times == [0, 21]
    assert controller.metrics.timeouts == 1
    assert isinstance(outcomes[0].error, ReconcileTimeout)
    assert outcomes[0].seconds == 20


def test_each_reconcile_has_its_own_time_limit() -> None:
    ended: list[tuple[str, float]] = []

    async def reconcile(request: Request) -> None:
        try:
            await asyncio.sleep(1e6)
        finally:
            ended.append((request.name, asyncio.get_running_loop().time()))

    async def main() -> None:
        controller = Controller("x", reconcile, clock=VirtualClock(), timeout_s=10)
        async with Scope() as scope:
            scope.start(controller.run())
            for delay_s in (0, 3, 4, 30):
                await asyncio.sleep(delay_s)
                controller.enqueue(Key("", f"after {delay_s}"), "test")
            await asyncio.sleep(10.5)
            scope.cancel()

    run_virtual(main())
    firsts = dict(reversed(ended))
    assert firsts == {"after 0": 10, "after 3": 13, "after 4": 17, "after 30": 47}


def test_a_reconcile_that_ignores_its_limit_makes_the_controller_unhealthy() -> None:
    async def stubborn(_: Request) -> None:
        while True:
            try:
                await asyncio.sleep(1e6)
            except asyncio.CancelledError:
                if asyncio.get_running_loop().time() > 100:
                    raise

    async def main() -> None:
        controller = Controller("x", stubborn, clock=VirtualClock(), timeout_s=5)
        async with Scope() as scope:
            scope.start(controller.run())
            await asyncio.sleep(0)
            controller.enqueue(WEB, "test")
            await asyncio.sleep(14)
            assert controller.check() == ""
            await asyncio.sleep(2)
            assert controller.check() == "1 reconciles of x are stuck, the first is ns/web"
            await asyncio.sleep(100)
            scope.cancel()

    run_virtual(main())


def test_no_more_run_at_once_than_allowed_and_never_two_of_one_key() -> None:
    running_now: list[str] = []
    most = 0

    async def reconcile(request: Request) -> None:
        nonlocal most
        assert request.name not in running_now
        running_now.append(request.name)
        most = max(most, len(running_now))
        await asyncio.sleep(1)
        running_now.remove(request.name)

    controller = Controller("x", reconcile, clock=VirtualClock(), concurrency=3)

    async def main() -> None:
        async with running(controller):
            for number in range(10):
                controller.enqueue(Key("", f"k{number}"), "test")
            await asyncio.sleep(0.5)
            assert controller.metrics.active == 3
            for number in range(10):
                controller.enqueue(Key("", f"k{number}"), "again")
            await asyncio.sleep(20)

    run_virtual(main())
    assert most == 3
    assert controller.metrics.results["success"] == 13, "what had not begun was merged"
    assert controller.metrics.active == 0


def test_stop_waits_for_what_runs_but_starts_nothing_more() -> None:
    done: list[str] = []

    async def reconcile(request: Request) -> None:
        await asyncio.sleep(10)
        done.append(request.name)

    controller = Controller("x", reconcile, clock=VirtualClock(), concurrency=1)

    async def main() -> float:
        async with Scope() as scope:
            task = scope.start(controller.run())
            await asyncio.sleep(0)
            controller.enqueue(Key("", "a"), "test")
            controller.enqueue(Key("", "b"), "test")
            await asyncio.sleep(1)
            controller.stop(grace_s=30)
            await task
            return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 10
    assert done == ["a"]


def test_stopping_a_run_that_has_not_quite_begun_ends_it() -> None:
    async def main() -> None:
        controller = Controller("x", Calls(), clock=VirtualClock())
        async with Scope() as scope:
            task = scope.start(controller.run())
            controller.stop()
            await task

    run_virtual(main())


def test_what_is_not_done_after_the_grace_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    ends: list[str] = []

    async def reconcile(_: Request) -> None:
        try:
            await asyncio.sleep(1e6)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    async def main() -> float:
        controller = Controller("x", reconcile, clock=VirtualClock())
        async with Scope() as scope:
            task = scope.start(controller.run())
            await asyncio.sleep(0)
            controller.enqueue(WEB, "test")
            await asyncio.sleep(1)
            controller.stop(grace_s=5)
            await task
            return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 6
    assert ends == ["cancelled"]
    assert "1 reconciles were not done in time" in caplog.text


def test_cancelling_run_cancels_reconciles_at_once_and_it_can_run_again() -> None:
    calls = Calls(lambda: asyncio.sleep(1e6, Result.done()))
    shelf = Shelf()

    async def main() -> None:
        shelf.put("web")
        controller = Controller("x", calls, clock=VirtualClock()).primary(shelf)
        for _ in range(2):
            async with Scope() as scope:
                scope.start(controller.run())
                await asyncio.sleep(1)
        assert asyncio.get_running_loop().time() == 2
        assert controller.metrics.queue.adds == 2

    run_virtual(main())
    assert calls.times == [0, 1]


def test_nothing_is_started_once_it_may_not_act(caplog: pytest.LogCaptureFixture) -> None:
    calls = Calls()
    allowed = True

    async def main() -> None:
        nonlocal allowed
        controller = Controller("x", calls, clock=VirtualClock())
        async with Scope() as scope:
            scope.start(controller.run(may_act=lambda: allowed))
            await asyncio.sleep(0)
            controller.enqueue(WEB, "test")
            await asyncio.sleep(1)
            allowed = False
            controller.enqueue(WEB, "test")
            await asyncio.sleep(1)
            scope.cancel()

    run_virtual(main())
    assert len(calls.requests) == 1
    assert "leadership is lost" in caplog.text


def test_what_a_full_queue_refused_is_made_up_for() -> None:
    calls = Calls()
    shelf = Shelf()

    async def main() -> None:
        names = {f"k{number}" for number in range(50)}
        for name in names:
            shelf.put(name)
        controller = Controller("x", calls, clock=VirtualClock(), max_length=10, concurrency=2).primary(shelf)
        async with running(controller):
            await asyncio.sleep(10)
        assert {request.name for request in calls.requests} == names

    run_virtual(main())


def test_logs_of_a_reconcile_say_what_it_is_about() -> None:
    seen: list[dict[str, Any]] = []

    async def note() -> None:
        seen.append(dict(logs.fields()))

    one_run(Calls(note))
    fields = seen[0]
    assert fields.pop("reconcile_id")
    assert fields == {"controller": "webapp", "object": WEB, "reasons": ("test",), "attempt": 1}


def test_hooks_are_called_around_and_cannot_break_anything() -> None:
    order: list[str] = []

    def before(request: Request) -> None:
        order.append(f"before {request.key}")
        raise ValueError("broken hook")

    async def reconcile() -> None:
        order.append("reconcile")

    one_run(Calls(reconcile), before=before, after=lambda _, outcome: order.append(outcome.result))
    assert order == ["before ns/web", "reconcile", "success"]


def test_failures_are_logged_with_their_stack_but_the_apis_refusals_without(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        one_run(Calls(ValueError("bad"), Conflict(409, "Conflict", "it has changed")))
    messages = [(record.getMessage(), bool(record.exc_info)) for record in caplog.records]
    assert messages == [
        ("failed; trying again in 1 s", True),
        ("Conflict: it has changed; trying again in 2 s", False),
    ]
