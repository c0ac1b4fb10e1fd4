"""`steer helm`: operators as a Helm chart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.packaged import (
    HaOption,
    ImageOption,
    ModuleArgument,
    Plan,
    ReplicasOption,
    WatchOption,
    released,
)

__all__ = ["FolderOption", "helm", "write_chart"]

FolderOption = Annotated[Path, typer.Option("--dir", metavar="DIR", help="The folder to write the chart to.")]

_EXAMPLES = """Generate a Helm chart for operators.

The chart contains the objects that `steer manifests` prints, with values to configure them. The names
derive from the release name, the namespace is the release namespace, and the CustomResourceDefinitions
are in crds/. Existing files of the same names are overwritten.

Examples:

\b
  steer helm webapp.py --image webapp:1 --dir chart
  helm install webapps ./chart --namespace webapps --create-namespace
"""


def helm(
    module: ModuleArgument,
    image: ImageOption,
    folder: FolderOption = Path("chart"),
    replicas: ReplicasOption = None,
    ha: HaOption = None,
    watch_namespace: WatchOption = None,
    fencing: Annotated[
        bool, typer.Option("--fencing", help="Enable fencing by default (ha.fencing).")
    ] = False,
    chart_version: Annotated[
        str, typer.Option(metavar="VERSION", help="The version of the chart.")
    ] = "0.1.0",
    app_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The version of the operator.", show_default="the image's tag"),
    ] = None,
) -> None:
    from steersman.operator.packaging.chart import MARKED_NAME, MARKED_NAMESPACE, chart

    plan = Plan(
        module,
        MARKED_NAME,
        MARKED_NAMESPACE,
        watch_namespace,
        ha,
        image,
        replicas,
        fencing,
        is_open=True,
    )
    _, release = released(plan)
    tag = image.rpartition(":")[2]
    files = chart(
        release, version=chart_version, app_version=app_version or (tag if "/" not in tag else "latest")
    )
    write_chart(folder, files)


helm.__doc__ = _EXAMPLES


def write_chart(folder: Path, files: Mapping[str, str]) -> None:
    """What is in the folder under the same names is replaced."""
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{error.filename or folder}: {error.strerror}") from None
    typer.echo(f"{folder} is a chart of {len(files)} files. Next: helm install NAME {folder}")
