"""`steer diff`: what operators would write if they ran now."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steersman.cli.colours import coloured
from steersman.cli.failure import CommandFailed, no_use_of_the_api, one_line
from steersman.cli.options import ContextOption, KubeconfigOption, Output, Where
from steersman.cli.packaged import ModuleArgument
from steersman.cli.process import run_briefly

if TYPE_CHECKING:
    from steersman.operator.dry_run import DryRun, WouldChange

__all__ = ["diff"]

_EXAMPLES = """Show which changes operators would make if they ran now.

Nothing is written to the cluster: each reconcile function runs, and its writes are sent as dry runs. Side
effects outside the Kubernetes API do happen. The exit code is 1 if something would change and 2 if a
reconcile fails, as with `diff`.

Examples:

\b
  steer diff webapp.py                all objects
  steer diff webapp.py web -n shop    one object
"""

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}


def diff(
    module: ModuleArgument,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The name of one object.", show_default="all")
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", "-n", metavar="NAME", help="The namespace of the objects.", show_default="all"
        ),
    ] = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    output: Annotated[
        Output, typer.Option(help="The output format; json prints a list for scripts.")
    ] = Output.TEXT,
) -> None:
    from steersman.cli.loading import load
    from steersman.client import ClientError, NoSuchKind

    loaded = load(module)
    where = Where(None, kubeconfig, context)

    async def dry_runs() -> list[tuple[str, DryRun]]:
        return [each async for each in _dry_runs(loaded.operators(), where, namespace, name)]

    try:
        found = run_briefly(dry_runs())
    except NoSuchKind as error:
        install = f"steer crd {module} | kubectl apply -f -"
        raise CommandFailed(f"{one_line(error)}; if it is not installed: {install}", 2) from None
    except ClientError as error:
        raise no_use_of_the_api(error, 2) from None
    if output is Output.JSON:
        sys.stdout.write(json.dumps([_as_json(kind, each) for kind, each in found], indent=2) + "\n")
    else:
        _show(found)
    failed = any(each.error for _, each in found)
    changed = any(each.changes for _, each in found)
    if failed or changed:
        raise typer.Exit(2 if failed else 1)


diff.__doc__ = _EXAMPLES


async def _dry_runs(
    operators: Iterable[Any], where: Where, namespace: str | None, name: str | None
) -> AsyncIterator[tuple[str, DryRun]]:
    from steersman.client import Client
    from steersman.operator.dry_run import dry_run_reconcile
    from steersman.runtime import Key

    async with Client.load(kubeconfig=where.kubeconfig, context=where.context) as client:
        for operator in operators:
            definition = operator.definition
            if not definition.reconciles:
                continue
            resource = definition.resource
            await client.resource_type(resource.api_version, resource.kind)  # else NoSuchKind
            if name is not None:
                place = (namespace or client.namespace) if resource.namespaced else ""
                keys = [Key(place, name)]
            else:
                listed = await client.list(resource, namespace, labels=definition.selector)
                keys = [Key.of(each) for each in listed]
            for key in keys:
                if not definition.namespaces or key.namespace in definition.namespaces:
                    yield resource.kind, await dry_run_reconcile(operator, client, key)


def _show(found: Iterable[tuple[str, DryRun]]) -> None:
    colours = _COLOURS if coloured(sys.stdout) else {}
    for kind, dry_run in found:
        for change in dry_run.changes:
            for line in _lines(change):
                colour = colours.get(line[:1], "")
                sys.stdout.write(f"{colour}{line}\x1b[0m\n" if colour else f"{line}\n")
        if dry_run.error is not None:
            said = f"{type(dry_run.error).__name__}: {one_line(dry_run.error)}"
            sys.stderr.write(f"steer: {kind} {dry_run.key} fails: {said}\n")


def _lines(change: WouldChange) -> list[str]:
    """A unified diff; the live object is on the left."""
    from steersman.operator.packaging.text import as_yaml

    before, after = ("" if each is None else as_yaml(each) for each in (change.before, change.after))
    name = _named(change)
    left = "/dev/null" if change.before is None else f"live {name}"
    right = "/dev/null" if change.after is None else f"wanted {name}"
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), left, right, lineterm=""))


def _named(change: WouldChange) -> str:
    obj = change.after or change.before or {}
    metadata = obj.get("metadata", {})
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{obj.get('kind')} {where}{metadata.get('name')}"


def _as_json(kind: str, dry_run: DryRun) -> dict[str, Any]:
    return {
        "kind": kind,
        "object": str(dry_run.key),
        "error": "" if dry_run.error is None else f"{type(dry_run.error).__name__}: {dry_run.error}",
        "changes": [
            {"path": each.path, "before": each.before, "after": each.after} for each in dry_run.changes
        ],
    }
