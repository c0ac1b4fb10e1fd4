"""How operators are declared: decorators and chains, and mistakes that are told at once."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from steersman.objects.builders import ConfigMap, Deployment, Service
from steersman.objects.custom import CustomResource, Model
from steersman.operator import Action, Context, Handler, Operator, OperatorError, assemble
from steersman.runtime import RetryPolicy


class Spec(Model):
    size: int = 1


class Thing(CustomResource, group="example.com", version="v1"):
    spec: Spec = Spec()


async def reconcile(ctx: Context[Thing]) -> Action:
    return Action.done()


async def clean_up(ctx: Context[Thing]) -> None:
    return None


def test_a_chain_and_decorators_declare_the_same():
    chained = (
        Operator(Thing)
        .owns(Deployment, Service)
        .reconcile(reconcile)
        .on_delete(clean_up)
        .requeue_after(300)
        .error_requeue(timedelta(minutes=1))
    )
    decorated = Operator(Thing)
    decorated.reconcile(reconcile)
    decorated.on_delete(clean_up)
    decorated.owns(Deployment).owns(Service).requeue_after(timedelta(minutes=5)).error_requeue(60)
    assert chained.definition == decorated.definition
    assert chained.definition.finalizer == "thing.example.com/finalizer"
    assert chained.definition.retry == RetryPolicy.flat(60)


def test_a_registered_function_can_still_be_called():
    op = Operator(Thing)

    @op.timer(60)
    async def tick(ctx: Any) -> str:
        """What it does."""
        return f"ticked {ctx}"

    assert isinstance(tick, Handler)
    assert asyncio.run(tick("x")) == "ticked x"  # type: ignore[arg-type, func-returns-value]
    assert (tick.__name__, tick.__doc__) == ("tick", "What it does.")
    assert op.definition.timers[0].every_s == 60


def test_a_handler_may_be_registered_again():
    op = Operator(Thing)
    assert Operator(Thing).reconcile(op.reconcile(reconcile)).definition.reconcile is not None


def not_async(ctx: Any) -> None: ...


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (lambda: Operator(Thing).reconcile(not_async), "a reconcile function is written with `async def`"),
        (lambda: Operator(Thing).daemon(not_async), "a daemon function is written with `async def`"),
        (lambda: Operator(Thing).timer(0), "greater than zero"),
        (lambda: Operator(Thing).with_concurrency(0), "at least one reconcile"),
        (lambda: Operator(Thing).with_custom_finalizer("mine"), "DOMAIN/NAME"),
        (lambda: Operator(dict), "derive it from CustomResource"),
        (lambda: assemble([], None), "there is no operator"),
        (lambda: assemble([Operator(Thing)], None), "things.example.com has nothing to do"),
    ],
)
def test_a_mistake_is_told_at_once(mistake: Any, told: str) -> None:
    with pytest.raises(OperatorError, match=told):
        mistake()


def test_a_duration_cannot_be_negative():
    with pytest.raises(ValueError, match="negative"):
        Operator(Thing).requeue_after(-1)


def test_dependents_are_declared_in_order_and_owned():
    op = Operator(Thing)

    @op.dependent(ConfigMap)
    async def settings(ctx: Context[Thing]) -> ConfigMap | None:
        return None

    @op.dependent(Deployment, after=settings, ready=lambda deployment: False)
    async def workload(ctx: Context[Thing]) -> Deployment | None:
        return None

    assert list(op.definition.dependents) == ["settings", "workload"]
    assert op.definition.dependents["workload"].after == ("settings",)
    assert set(op.definition.owns) == {ConfigMap.resource_type, Deployment.resource_type}
    with pytest.raises(OperatorError, match="two dependents are named settings"):
        op.dependent(ConfigMap)(settings)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ({"a": "b", "b": "c", "c": "a"}, "dependents wait for each other: .*a.*b"),
        ({"a": "a"}, "dependents wait for each other: a → a"),
        ({"a": "nothing"}, "the dependent a comes after nothing, which is not declared"),
    ],
    ids=["cycle", "itself", "unknown"],
)
def test_dependents_without_an_order_are_refused_before_anything_runs(
    after: dict[str, str], why: str
) -> None:
    op = Operator(Thing)
    for name, earlier in after.items():

        async def make(ctx: Context[Thing]) -> ConfigMap | None:
            return None

        make.__name__ = name
        op.dependent(ConfigMap, after=earlier)(make)
    with pytest.raises(OperatorError, match=why):
        op.definition.check()


def test_operators_of_one_process_share_their_election():
    class Election:
        def __init__(self, name: str) -> None:
            self.name = name

        def elector(self, client: Any, clock: Any) -> Any:
            raise AssertionError("not reached")

    one = Operator(Thing).reconcile(reconcile).with_leader_election(Election("a"))
    other = Operator(Thing, name="other").reconcile(reconcile).with_leader_election(Election("b"))
    with pytest.raises(OperatorError, match="the same leader election"):
        assemble([one, other], None)  # type: ignore[arg-type]
