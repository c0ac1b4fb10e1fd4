"""`steer crd`: the custom resource definitions of a module, for `kubectl apply` or a repository."""

from __future__ import annotations

from typing import Annotated

import typer

from steersman.cli.emitting import Format, emit
from steersman.cli.failure import CommandFailed

__all__ = ["crd"]

_EXAMPLES = """Print the CustomResourceDefinitions of a module.

Examples:

\b
  steer crd webapp.py | kubectl apply -f -
  steer crd shop.operators > crds.yaml
  steer crd shop.operators:orders --output json    one operator only
"""


def crd(
    module: Annotated[
        str,
        typer.Argument(
            metavar="MODULE[:NAME]",
            help="A module or file; NAME selects one of its operators or classes.",
        ),
    ],
    output: Annotated[
        Format, typer.Option(help="The output format: YAML documents, or a List in JSON.")
    ] = Format.YAML,
) -> None:
    from steersman.cli.loading import load

    definitions = load(module).crds()
    if not definitions:
        raise CommandFailed(f"{module}: there is no custom resource in it")
    emit(definitions, output)


crd.__doc__ = _EXAMPLES
