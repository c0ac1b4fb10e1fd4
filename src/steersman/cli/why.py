"""`steer why`: the last reconciles of an object, as the running operator remembers them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Annotated, Any

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.options import AddressOption, ContextOption, KubeconfigOption, Output, Where
from steersman.cli.process import run_briefly

__all__ = ["why"]

_EXAMPLES = """Show the last reconciles of an object and their triggers.

Each line also shows the duration, the writes and the error, if any. The information comes from the
running operator: from its pods, which are found by its name, or from an address.

Examples:

\b
  steer why webapp/web
  steer why webapp/web -n shop --operator shop-operator
  steer why webapp/web --address localhost:8080    an operator on this machine
"""


def why(
    what: Annotated[str, typer.Argument(metavar="KIND/NAME", help="The object, in the notation of kubectl.")],
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", "-n", metavar="NAME", help="The namespace of the object; empty if cluster-scoped."
        ),
    ] = "default",
    operator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The name of the operator.", show_default="KIND-operator"),
    ] = None,
    address: AddressOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    output: Annotated[
        Output, typer.Option(help="The output format; json prints a list for scripts.")
    ] = Output.TEXT,
) -> None:
    kind, slash, name = what.partition("/")
    if not (kind and slash and name):
        raise CommandFailed(f"{what!r} is not KIND/NAME, such as webapp/web", 2)
    where = Where(address, kubeconfig, context)
    query = {"kind": kind, "namespace": namespace, "name": name}
    called = operator or f"{kind.partition('.')[0].lower()}-operator"
    found = run_briefly(_reconciles(where, called, query))
    if output is Output.JSON:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    elif not found:
        raise CommandFailed(f"no reconcile of {kind} {namespace}/{name} is recorded")
    else:
        today = datetime.now().astimezone().date()
        sys.stdout.writelines(f"{line}\n" for entry in found for line in _lines(entry, today))


why.__doc__ = _EXAMPLES


async def _reconciles(where: Where, operator: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Of all replicas: the object may have had several leaders."""
    from steersman.cli.asking import running_operators

    found: list[dict[str, Any]] = []
    async with running_operators(where, operator) as replicas:
        for replica in replicas:
            answer = await replica.ask(query)
            found += [{"replica": replica.name, **entry} for entry in answer["reconciles"]]
    return sorted(found, key=lambda entry: float(entry["at"]))


def _lines(entry: Mapping[str, Any], today: date) -> Iterable[str]:
    at = datetime.fromtimestamp(entry["at"]).astimezone()
    day = "" if at.date() == today else f"{at:%Y-%m-%d} "
    result = "error" if entry["error"] else "success"
    tries = f" (try {entry['attempt']})" if entry["attempt"] > 1 else ""
    yield (
        f"{day}{at:%H:%M:%S}.{at.microsecond // 1000:03}  {result}{tries} in {_duration(entry['seconds'])}"
        f"  because {', '.join(entry['reasons']) or 'requested'}"
    )
    for write in entry["writes"]:
        yield f"    wrote  {write}"
    if entry["error"]:
        yield f"    error  {' '.join(entry['error'].split())}"
    if entry["again_after_s"] is not None:
        yield f"    again  after {_duration(entry['again_after_s'])}"


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.3g} s"
