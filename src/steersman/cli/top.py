"""`steer top`: queues, rates and slow objects of a running operator, live in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from steersman.aio.signals import Interrupted
from steersman.cli.colours import can_redraw
from steersman.cli.failure import CommandFailed
from steersman.cli.options import AddressOption, ContextOption, KubeconfigOption, Output, Where
from steersman.cli.process import run_briefly

if TYPE_CHECKING:
    from rich.console import Group

    from steersman.cli.asking import Running

__all__ = ["top"]

_EXAMPLES = """Show live statistics of a running operator.

For each replica: work queues, rates, slow and failing objects. Ctrl-C stops it.

Examples:

\b
  steer top webapp-operator
  steer top --address localhost:8080         an operator on this machine
  steer top webapp-operator --once --output json
"""

_SHOWN_OBJECTS: Final = 5


class Sample(NamedTuple):
    """What all replicas said at one moment."""

    at: float
    replicas: dict[str, dict[str, Any]]


def top(
    operator: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The name of the operator, to look up its pods.")
    ] = None,
    address: AddressOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds between updates.", min=0.1)] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print once and exit.")] = False,
    output: Annotated[Output, typer.Option(help="The output format; json requires --once.")] = Output.TEXT,
) -> None:
    if operator is None and address is None:
        raise CommandFailed("give the name of an operator, or --address", 2)
    if output is Output.JSON and not once:
        raise CommandFailed("--output json requires --once", 2)
    where = Where(address, kubeconfig, context)
    with contextlib.suppress(Interrupted):  # the way to end it
        run_briefly(_watch(where, operator or "", every_s=every, once=once, output=output))


top.__doc__ = _EXAMPLES


async def _watch(where: Where, operator: str, *, every_s: float, once: bool, output: Output) -> None:
    from steersman.cli.asking import running_operators

    async with running_operators(where, operator) as replicas:
        sample = await _sample(replicas)
        if output is Output.JSON:
            sys.stdout.write(json.dumps(sample.replicas, indent=2) + "\n")
            return
        from rich.console import Console
        from rich.live import Live

        console = Console()
        if once or not can_redraw(sys.stdout):
            console.print(_screen(sample, None))
            while not once:
                await asyncio.sleep(every_s)
                before, sample = sample, await _sample(replicas)
                console.print(_screen(sample, before))
            return
        with Live(_screen(sample, None), console=console, auto_refresh=False, screen=True) as live:
            while True:
                await asyncio.sleep(every_s)
                before, sample = sample, await _sample(replicas)
                live.update(_screen(sample, before), refresh=True)


async def _sample(replicas: Sequence[Running]) -> Sample:
    answers = await asyncio.gather(*(replica.ask({}) for replica in replicas))
    named = {replica.name: answer for replica, answer in zip(replicas, answers, strict=True)}
    return Sample(time.monotonic(), named)


def rate(now: Sample, before: Sample | None, replica: str, number: int, *results: str) -> float | None:
    """Reconciles per second that ended with one of these results, all without any; None if not known yet."""
    if before is None or replica not in before.replicas or now.at <= before.at:
        return None
    counts = []
    for sample in (now, before):
        controllers = sample.replicas[replica]["controllers"]
        if number >= len(controllers):
            return None
        ended: Mapping[str, int] = controllers[number]["results"]
        counts.append(sum(count for result, count in ended.items() if not results or result in results))
    return (counts[0] - counts[1]) / (now.at - before.at)


def _screen(now: Sample, before: Sample | None) -> Group:
    from rich.console import Group
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("CONTROLLER")
    for title in ("QUEUE", "ACTIVE", "PER S", "ERRORS/S", "ERRORS", "RETRIES", "MEAN", "LONGEST"):
        table.add_column(title, justify="right")
    objects = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("OBJECT", "MEAN", "LAST ERROR"):
        objects.add_column(title)
    for replica, answer in now.replicas.items():
        role = "leads" if answer["leader"] else "standby"
        table.add_row(f"[dim]{replica} {role}[/dim]")
        for number, each in enumerate(answer["controllers"]):
            table.add_row(*_row(each, now, before, replica, number))
            for line in _troubles(each):
                objects.add_row(*line)
    return Group(table, "", objects) if objects.row_count else Group(table)


def _row(each: Mapping[str, Any], now: Sample, before: Sample | None, replica: str, number: int) -> list[str]:
    total = sum(each["results"].values())
    per_s, errors_per_s = rate(now, before, replica, number), rate(now, before, replica, number, "error")
    errors = each["results"]["error"]
    return [
        f"  {each['name']}",
        str(each["depth"]),
        f"{each['active']}/{each['concurrency']}",
        "" if per_s is None else f"{per_s:.1f}",
        "" if errors_per_s is None else f"{errors_per_s:.1f}",
        f"[red]{errors}[/red]" if errors else "0",
        str(each["retries"]),
        f"{each['seconds'] / total * 1000:.1f} ms" if total else "",
        f"{each['longest_s']:.1f} s" if each["longest_s"] else "",
    ]


def _troubles(each: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Objects that fail, then those that take long."""
    from rich.markup import escape

    mean = {slow["object"]: slow["mean_s"] for slow in each["slow"]}
    errors = {failing["object"]: failing["error"] for failing in each["failing"][:_SHOWN_OBJECTS]}
    shown = [*errors, *(name for name in mean if name not in errors)][:_SHOWN_OBJECTS]
    return [
        (
            f"{each['name']} {escape(name)}",
            f"{mean[name] * 1000:.1f} ms" if name in mean else "",
            escape(" ".join(errors.get(name, "").split())),
        )
        for name in shown
    ]
