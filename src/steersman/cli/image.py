"""`steer image`: folders of this machine that pods can run as images."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steersman.cli.colours import can_redraw
from steersman.cli.failure import CommandFailed
from steersman.cli.options import Output
from steersman.cli.process import require_cluster_packages

if TYPE_CHECKING:
    from steersman.cluster.node.process.image_index import ImageIndex

__all__ = ["image"]

_EXAMPLES = """Manage folders that pods can run as container images.

The containers of a pod see the contents of the folder at /. If the folder is the root of a Linux system
(it has bin/sh or etc/os-release), they see nothing else, as with an image from a registry; otherwise the
files are overlaid on those of this machine. Set the entrypoint with options, or with an image.json in the
folder:
{"entrypoint": ["python3", "/server.py"], "env": {"PORT": "8080"}, "workingDir": "/"}.

Examples:

\b
  steer image add shop:1 ./shop      use ./shop as the image shop:1
  steer image add shop:1 ./shop --command "python3 /server.py" --env PORT=8080
  steer image add debian:13 ./root   a root file system, from debootstrap
  steer image list
  steer image remove shop:1
"""

image = typer.Typer(
    help=_EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The name of the image, as in a pod; the default tag is :latest."),
]


@image.command("add")
def add(
    name: _Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder with the contents of the image.")],
    command: Annotated[
        str, typer.Option(metavar="WORDS", help="The entrypoint, used unless the pod sets `command`.")
    ] = "",
    args: Annotated[
        str,
        typer.Option(metavar="WORDS", help="The default arguments (CMD), used unless the pod sets `args`."),
    ] = "",
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An environment variable; can be repeated.")
    ] = None,
    user: Annotated[
        str,
        typer.Option(
            metavar="USER[:GROUP]", help="The user and group to run as: names in the image, or numeric IDs."
        ),
    ] = "",
    workdir: Annotated[str, typer.Option(metavar="PATH", help="The working directory in the image.")] = "",
) -> None:
    """Add a folder as an image.

    It is not copied: changes are seen by what starts after them. What is said here goes before what an
    image.json in the folder says.

    Example: steer image add shop:1 ./shop --command "python3 /server.py" --user 1000
    """
    from steersman.cluster.node.errors import RuntimeFailed
    from steersman.cluster.node.process.image_index import ImageConfig

    config = ImageConfig(
        _words("--command", command), _words("--args", args), _variables(env or ()), workdir, user=user
    )
    try:
        with _progress() as seen:
            added = _index().add(name, folder, config, seen)
    except RuntimeFailed as error:
        raise CommandFailed(str(error)) from None
    typer.echo(f"{name} is {added.folder}")


def _words(option: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise CommandFailed(f"{option}: {error}: {text}", 2) from None


def _variables(given: Iterable[str]) -> dict[str, str]:
    variables = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise CommandFailed(f"--env: {one!r} is not NAME=VALUE", 2)
        variables[name] = value
    return variables


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Shows somebody who watches how far it is; gives what is to be told of files and bytes."""
    if not can_redraw(sys.stderr):
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.filesize import decimal

    with Console(stderr=True).status("reading the files") as status:
        yield lambda files, size: status.update(f"{files:,} files, {decimal(size)}")


@image.command("list")
def list_images(
    output: Annotated[
        Output, typer.Option(help="The output format; json prints a list for scripts.")
    ] = Output.TEXT,
) -> None:
    """List the images that were added.

    Example: steer image list --output json
    """
    images = _index().list()
    if output is Output.JSON:
        found = [
            {"name": name, "folder": one.folder, "sizeBytes": one.size_bytes} for name, one in images.items()
        ]
        typer.echo(json.dumps(found))
        return
    for name, one in sorted(images.items()):
        typer.echo(f"{name}\t{one.folder}")


@image.command("remove")
def remove(name: _Name) -> None:
    """Remove an image from the list. Its folder is kept.

    Example: steer image remove shop:1
    """
    if not _index().remove(name):
        raise CommandFailed(f"there is no image {name!r}; see `steer image list`")
    typer.echo(f"{name} removed")


def _index() -> ImageIndex:
    require_cluster_packages()
    from steersman.cluster.node.process.image_index import ImageIndex, default_index_file

    return ImageIndex(default_index_file())
