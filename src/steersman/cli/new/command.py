"""The command `steer new`: the files of `project/`, with the names filled in."""

from __future__ import annotations

import json
import keyword
import re
import shlex
import sys
from pathlib import Path
from string import Template
from types import new_class
from typing import Annotated, Final, cast
from urllib.parse import unquote, urlsplit

import typer

from steersman.cli.failure import CommandFailed

__all__ = ["new"]

_EXAMPLES = """Create an operator project with tests, image and manifests.

Examples:

\b
  steer new webapp-operator
  steer new webapp-operator --group apps.example.com --kind WebApp
  steer new webapp-operator --dir ~/src/webapp
"""

_PROJECT: Final = Path(__file__).parent / "project"
#: The files of a project end so, lest they be taken for this package's own.
_SUFFIX: Final = ".txt"
_SUFFIX_OF_NAMES: Final = "-operator"


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the project: lower-case letters and dashes.")
    ],
    group: Annotated[
        str, typer.Option(metavar="GROUP", help="The API group of the custom resource.")
    ] = "example.com",
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="The kind of the custom resource.", show_default="from NAME"),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="The folder to create the project in.", show_default="./NAME"
        ),
    ] = None,
) -> None:
    values = _values(name, group, kind)
    target = folder or Path(name)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CommandFailed(f"{target} already exists and is not empty")
    try:
        for source in sorted(path for path in _PROJECT.rglob(f"*{_SUFFIX}") if path.is_file()):
            _write(source, target, values)
    except OSError as error:
        raise CommandFailed(f"{error.filename or target}: {error.strerror}") from None
    checkout = _checkout()
    given = f" STEERSMAN={shlex.quote(checkout)}" if checkout else ""
    next_steps = f"cd {shlex.quote(str(target))} && make install check{given}"
    typer.echo(f"{target} is an operator for {values['kind']}. Next:\n  {next_steps}")


new.__doc__ = _EXAMPLES


def _values(name: str, group: str, kind: str | None) -> dict[str, str]:
    from steersman.objects.custom import CustomResource, DefinitionError

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > 50:
        raise CommandFailed(
            f"{name!r} is not a valid project name: use lower-case letters, digits and dashes", 2
        )
    base = name.removesuffix(_SUFFIX_OF_NAMES)
    package = base.replace("-", "_")
    if keyword.iskeyword(package) or package in sys.stdlib_module_names | {"steersman", "tests"}:
        raise CommandFailed(
            f"{name!r} is not a valid project name: the standard library has the module {package!r}", 2
        )
    kind = kind or "".join(word.capitalize() for word in base.split("-"))
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", kind):
        raise CommandFailed(f"{kind!r} is not a valid kind: use letters and digits, such as WebApp", 2)
    try:
        made = cast(
            "type[CustomResource]", new_class(kind, (CustomResource,), {"group": group, "version": "v1"})
        )
    except DefinitionError as error:
        raise CommandFailed(str(error), 2) from None
    return {
        "name": name,
        "package": package,
        "kind": kind,
        "group": group,
        "plural": made.resource_type.plural,
        "workload": name if name.endswith(_SUFFIX_OF_NAMES) else f"{name}{_SUFFIX_OF_NAMES}",
    }


def _checkout() -> str:
    """The folder that this package was installed from; empty if it came from an index."""
    from importlib.metadata import distribution

    origin = distribution("steersman").read_text("direct_url.json")
    url = json.loads(origin)["url"] if origin else ""
    return unquote(urlsplit(url).path) if url.startswith("file:") else ""


def _write(source: Path, target: Path, values: dict[str, str]) -> None:
    relative = source.relative_to(_PROJECT)
    parts = [values["package"] if part == "package" else part for part in relative.parts]
    file = target.joinpath(*parts)
    file = file.with_name(file.name.removesuffix(_SUFFIX))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(Template(source.read_text(encoding="utf-8")).substitute(values), encoding="utf-8")
