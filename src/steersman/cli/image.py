"""`steer image`: folders of this machine that pods can run as images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.options import Output
from steersman.cli.process import require_cluster_packages

if TYPE_CHECKING:
    from steersman.cluster.node.process.image_index import ImageIndex

__all__ = ["image"]

_EXAMPLES = """Folders of this machine that pods can run as images.

What is in the folder is seen by the pod's containers at /. An image.json in it may say how it is run:
{"entrypoint": ["python3", "/server.py"], "env": {"PORT": "8080"}, "workingDir": "/"}.

Examples:

\b
  steer image add shop:1 ./shop    pods of the image shop:1 run it
  steer image list
  steer image remove shop:1
"""

image = typer.Typer(
    help=_EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="As pods name it; without a tag it is :latest.")]


@image.command("add")
def add(
    name: _Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What the image contains.")],
) -> None:
    """Have a folder be an image.

    It is not copied: changes are seen by what starts after them.

    Example: steer image add shop:1 ./shop
    """
    from steersman.cluster.node.errors import RuntimeFailed

    try:
        added = _index().add(name, folder)
    except RuntimeFailed as error:
        raise CommandFailed(str(error)) from None
    typer.echo(f"{name} is {added.folder}")


@image.command("list")
def list_images(
    output: Annotated[Output, typer.Option(help="json: a list for scripts.")] = Output.TEXT,
) -> None:
    """Show the images that were added.

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
    """Forget an image. Its folder stays.

    Example: steer image remove shop:1
    """
    if not _index().remove(name):
        raise CommandFailed(f"there is no image {name!r}; see `steer image list`")
    typer.echo(f"{name} is no image any more")


def _index() -> ImageIndex:
    require_cluster_packages()
    from steersman.cluster.node.process.image_index import ImageIndex, default_index_file

    return ImageIndex(default_index_file())
