"""The fixtures come with Steersman: a cluster in this process, and operators that run in it."""

from __future__ import annotations

from hello import Greeting, GreetingSpec, op

from steersman import Client, ObjectMeta
from steersman.testing import Cluster, eventually
from steersman.testing.plugin import OperatorRunner


async def text(client: Client) -> str:
    return (await client.get(Greeting, "first")).status.text


async def test_a_greeting_gets_its_text(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    await client.create(Greeting(metadata=ObjectMeta(name="first"), spec=GreetingSpec(whom="Piraeus")))
    assert await eventually(lambda: text(client)) == "Hello, Piraeus!"


async def test_a_changed_greeting_gets_another(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    await client.create(Greeting(metadata=ObjectMeta(name="first")))
    assert await eventually(lambda: text(client)) == "Hello, world!"
    await client.patch(Greeting, "first", {"spec": {"whom": "Athens"}})

    async def changed() -> bool:
        return await text(client) == "Hello, Athens!"

    await eventually(changed)


async def test_a_greeting_that_has_its_text_is_left_alone(
    cluster: Cluster, client: Client, run_operator: OperatorRunner
) -> None:
    first = await run_operator(op)
    await client.create(Greeting(metadata=ObjectMeta(name="first")))
    await eventually(lambda: text(client))
    await first.stop()
    with cluster.assert_no_writes():
        again = await run_operator(op, install=False)
        await again.stop()
