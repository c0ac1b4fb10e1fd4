"""`steer crd`: the custom resource definitions of a module, for `kubectl apply` or a repository."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from steersman.cli.failure import CommandFailed

__all__ = ["crd"]

_EXAMPLES = """Print the custom resource definitions of a module.

Examples:

  steer crd webapp.py | kubectl apply -f -

  steer crd shop.operators > crds.yaml

  steer crd shop.operators:orders --output json     of one operator
"""


class Format(StrEnum):
    YAML = "yaml"
    JSON = "json"


def crd(
    module: Annotated[
        str,
        typer.Argument(
            metavar="MODULE[:NAME]",
            help="A module's name or a file; NAME is one of its operators or classes.",
        ),
    ],
    output: Annotated[Format, typer.Option(help="YAML documents, or a List as JSON.")] = Format.YAML,
) -> None:
    from steersman.cli.loading import load

    definitions = load(module).crds()
    if not definitions:
        raise CommandFailed(f"{module}: there is no custom resource in it")
    if output is Format.JSON:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": definitions}, indent=2) + "\n"
    else:
        import yaml

        text = yaml.safe_dump_all(definitions, sort_keys=False, allow_unicode=True, width=110)
    sys.stdout.write(text)


crd.__doc__ = _EXAMPLES
