"""`steer rbac`: the rights that operators need, and no others."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from steersman.cli.emitting import Format, emit
from steersman.cli.packaged import (
    HaOption,
    ModuleArgument,
    NameOption,
    NamespaceOption,
    Plan,
    WatchOption,
    released,
)

if TYPE_CHECKING:
    from steersman.operator.packaging import Permission

__all__ = ["rbac"]

_EXAMPLES = """Print the RBAC rules that operators need.

The rules are derived from what the operators declare, grant nothing else, and are bound to a
ServiceAccount. If a function uses other resources, declare them: op.uses(Secret, "get").

Examples:

\b
  steer rbac webapp.py | kubectl apply -f -
  steer rbac webapp.py --explain                 why each rule is needed
  steer rbac webapp.py --watch-namespace shop    Roles, no ClusterRole
"""


def rbac(
    module: ModuleArgument,
    name: NameOption = None,
    namespace: NamespaceOption = None,
    watch_namespace: WatchOption = None,
    ha: HaOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print a table of the rights and why each is needed.")
    ] = False,
    output: Annotated[Format, typer.Option(help="The output format: YAML documents, or JSON.")] = Format.YAML,
) -> None:
    from steersman.operator.packaging import rbac as made

    _, release = released(Plan(module, name, namespace, watch_namespace, ha))
    if explain:
        _explain(release.permissions, output)
    else:
        emit(made(release.permissions, name=release.name, namespace=release.namespace), output)


rbac.__doc__ = _EXAMPLES


def _explain(permissions: list[Permission], output: Format) -> None:
    if output is Format.JSON:
        text = json.dumps([each._asdict() for each in permissions], indent=2)
        sys.stdout.write(text + "\n")
        return
    rows = [("VERB", "RESOURCE", "NAMESPACE", "WHY")]
    for each in permissions:
        resource = f"{each.resource}.{each.group}" if each.group else each.resource
        named = f"{resource} {each.name}" if each.name else resource
        rows.append((each.verb, named, each.namespace or "(all)", each.why))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        sys.stdout.write("  ".join((*cells, row[3])) + "\n")
