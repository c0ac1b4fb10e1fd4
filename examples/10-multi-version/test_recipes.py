"""Objects written in one version and read in the other, through a real API server and the webhook."""

from __future__ import annotations

from datetime import timedelta

from recipes import OldRecipe, OldRecipeSpec, Recipe, RecipeSpec, downgrade, op, upgrade

from steersman import Client, ObjectMeta
from steersman.testing import eventually
from steersman.testing.plugin import OperatorRunner


async def start(run_operator: OperatorRunner) -> None:
    running = await run_operator(op)
    await eventually(lambda: running.manager is not None and not running.manager.probes.problems())


def moussaka() -> OldRecipe:
    return OldRecipe(metadata=ObjectMeta(name="moussaka"), spec=OldRecipeSpec(minutes=90))


def test_conversions_are_plain_functions() -> None:
    new = upgrade(moussaka())
    assert new.spec == RecipeSpec(time=timedelta(minutes=90), serves=2)
    assert downgrade(new).spec == OldRecipeSpec(minutes=90)


async def test_each_client_sees_its_own_version(client: Client, run_operator: OperatorRunner) -> None:
    await start(run_operator)
    await client.create(moussaka())
    new = await client.get(Recipe, "moussaka")
    assert new.spec.time == timedelta(minutes=90)

    async def text() -> str:
        return (await client.get(Recipe, "moussaka")).status.text

    assert await eventually(text) == "for 2, ready after 1:30:00"


async def test_what_the_old_version_cannot_say_is_not_lost(
    client: Client, run_operator: OperatorRunner
) -> None:
    await start(run_operator)
    await client.create(moussaka())
    await client.patch(Recipe, "moussaka", {"spec": {"serves": 8}})
    await client.patch(OldRecipe, "moussaka", {"spec": {"minutes": 120}})
    spec = (await client.get(Recipe, "moussaka")).spec
    assert (spec.time, spec.serves) == (timedelta(hours=2), 8)
