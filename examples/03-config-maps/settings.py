"""An object and its child: every Settings is rendered into a ConfigMap.

Shows what the API server checks for you (types, patterns, rules), a child that is repaired when somebody
changes or deletes it, and a condition that says how things are.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

from steersman import (
    AGE,
    Condition,
    ConfigMap,
    Context,
    CustomResource,
    Field,
    Model,
    NewCondition,
    Operator,
    PrinterColumn,
    list_map,
    rule,
)


class Format(StrEnum):
    ENV = "env"
    JSON = "json"


class SettingsSpec(Model, rules=[rule("size(self.values) > 0", "there must be at least one value")]):
    format: Format = Format.ENV
    values: dict[str, str] = Field(max_length=100)


class SettingsStatus(Model):
    #: The key of the ConfigMap that has the rendered values.
    key: str = ""
    observed_generation: int | None = None
    conditions: Annotated[list[Condition], list_map("type")] = Field(default_factory=list)


class Settings(
    CustomResource,
    group="examples.steersman.dev",
    version="v1",
    columns=[PrinterColumn("Format", ".spec.format"), PrinterColumn("Key", ".status.key"), AGE],
):
    spec: SettingsSpec
    status: SettingsStatus = SettingsStatus()


def rendered(spec: SettingsSpec) -> str:
    if spec.format is Format.JSON:
        return json.dumps(spec.values, indent=2, sort_keys=True) + "\n"
    return "".join(f"{name}={value}\n" for name, value in sorted(spec.values.items()))


op = Operator(Settings).owns(ConfigMap)


@op.reconcile
async def render(ctx: Context[Settings]) -> None:
    spec = ctx.resource.spec
    key = f"settings.{spec.format}"
    await ctx.apply(ConfigMap(ctx.name).data(key, rendered(spec)))
    await ctx.set_status(
        SettingsStatus(key=key),
        NewCondition("Rendered", "True", "UpToDate", f"{len(spec.values)} values in ConfigMap {ctx.name}"),
    )


if __name__ == "__main__":
    op.run()
