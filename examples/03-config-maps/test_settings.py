"""What the operator makes, repairs and leaves alone; and what the API server refuses by the class alone."""

from __future__ import annotations

import pytest
from settings import Settings, SettingsSpec, op, rendered

from steersman import Client, ConfigMap, Invalid, ObjectMeta
from steersman.testing import eventually
from steersman.testing.plugin import OperatorRunner

SHOP = Settings(
    metadata=ObjectMeta(name="shop"), spec=SettingsSpec(values={"THEME": "dark", "CURRENCY": "EUR"})
)
ENV = "CURRENCY=EUR\nTHEME=dark\n"


async def value(client: Client, key: str = "settings.env") -> str | None:
    found = await client.find(ConfigMap, "shop")
    return found.value(key) if found else None


@pytest.mark.parametrize(
    ("form", "text"),
    [("env", "A=1\nB=2\n"), ("json", '{\n  "A": "1",\n  "B": "2"\n}\n')],
)
def test_rendering(form: str, text: str) -> None:
    assert rendered(SettingsSpec.model_validate({"format": form, "values": {"B": "2", "A": "1"}})) == text


async def test_settings_become_a_config_map(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    made = await client.create(SHOP)
    assert await eventually(lambda: value(client)) == ENV
    child = await client.get(ConfigMap, "shop")
    assert child.metadata["ownerReferences"][0]["uid"] == made.metadata.uid

    async def condition() -> bool:
        status = (await client.get(Settings, "shop")).status
        return [(each.type, each.status) for each in status.conditions] == [("Rendered", "True")]

    await eventually(condition)


async def test_what_others_do_to_the_config_map_is_undone(
    client: Client, run_operator: OperatorRunner
) -> None:
    await run_operator(op)
    await client.create(SHOP)
    await eventually(lambda: value(client))
    await client.delete(ConfigMap, "shop")
    assert await eventually(lambda: value(client)) == ENV
    await client.patch(ConfigMap, "shop", {"data": {"settings.env": "THEME=pink", "mine": "too"}})

    async def repaired() -> bool:
        return await value(client) == ENV

    await eventually(repaired)
    assert await value(client, "mine") == "too"


async def test_another_format_takes_the_old_key_away(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    await client.create(SHOP)
    await eventually(lambda: value(client))
    await client.patch(Settings, "shop", {"spec": {"format": "json"}})
    await eventually(lambda: value(client, "settings.json"))
    assert await value(client) is None


@pytest.mark.parametrize(
    "spec",
    [{"format": "xml", "values": {"A": "1"}}, {"values": {}}, {"values": {"A": 1}}, {}],
    ids=["no such format", "no values", "no text", "nothing"],
)
async def test_refused_by_the_api_server(client: Client, run_operator: OperatorRunner, spec: object) -> None:
    await run_operator(op)
    with pytest.raises(Invalid):
        await client.create(
            {
                "apiVersion": "examples.steersman.dev/v1",
                "kind": "Settings",
                "metadata": {"name": "x"},
                "spec": spec,
            }
        )
