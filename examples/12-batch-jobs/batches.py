"""A list of things to do as jobs, so many at once: each item of a Batch gets a Job, and its end is counted.

What is done is not remembered anywhere but in the jobs themselves: the operator may be restarted at any time.
"""

from __future__ import annotations

from typing import Annotated

from steersman import (
    AGE,
    Condition,
    Container,
    Context,
    CustomResource,
    Field,
    Job,
    Model,
    NewCondition,
    Operator,
    PrinterColumn,
    list_map,
)


class BatchSpec(Model):
    image: str
    #: What is run, followed by the item.
    command: list[str]
    items: list[str] = Field(min_length=1, max_length=1000)
    at_once: int = Field(2, ge=1)


class BatchStatus(Model):
    waiting: int = 0
    running: int = 0
    succeeded: int = 0
    failed: list[str] = Field(default_factory=list)
    conditions: Annotated[list[Condition], list_map("type")] = Field(default_factory=list)


class Batch(
    CustomResource,
    group="examples.steersman.dev",
    version="v1",
    plural="batches",
    columns=[
        PrinterColumn("Waiting", ".status.waiting"),
        PrinterColumn("Running", ".status.running"),
        PrinterColumn("Succeeded", ".status.succeeded"),
        AGE,
    ],
):
    spec: BatchSpec
    status: BatchStatus = BatchStatus()


op = Operator(Batch).owns(Job)


@op.reconcile
async def work_off(ctx: Context[Batch]) -> None:
    spec = ctx.resource.spec
    jobs = {live.name: live for live in await ctx.children(Job)}
    ends = {name: outcome(live) for name, live in jobs.items()}
    free = spec.at_once - list(ends.values()).count("")
    for index, item in enumerate(spec.items):
        name = f"{ctx.name}-{index}"
        if name not in jobs and free > 0:
            await ctx.apply(job(name, spec, item))
            ends[name] = ""
            free -= 1
    failed = [item for index, item in enumerate(spec.items) if ends.get(f"{ctx.name}-{index}") == "Failed"]
    counts = list(ends.values())
    status = BatchStatus(
        waiting=len(spec.items) - len(ends),
        running=counts.count(""),
        succeeded=counts.count("Complete"),
        failed=failed,
    )
    await ctx.set_status(status, done(status))


def job(name: str, spec: BatchSpec, item: str) -> Job:
    container = Container("work").image(spec.image).command(*spec.command, item)
    return Job(name).backoff_limit(1).container(container)


def outcome(live: Job) -> str:
    """Complete, Failed, or nothing yet."""
    conditions = live.status.get("conditions") or ()
    ended = [each["type"] for each in conditions if each["status"] == "True"]
    return next((kind for kind in ended if kind in ("Complete", "Failed")), "")


def done(status: BatchStatus) -> NewCondition:
    if status.waiting or status.running:
        return NewCondition("Done", "False", "Working")
    if status.failed:
        return NewCondition("Done", "True", "SomeFailed", f"failed: {', '.join(status.failed)}")
    return NewCondition("Done", "True", "AllSucceeded")


if __name__ == "__main__":
    op.run()
