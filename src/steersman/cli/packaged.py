"""From `MODULE[:NAME]` and options to a release: what `steer rbac`, `manifests` and `helm` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steersman.cli.electing import engine_named
from steersman.cli.failure import CommandFailed

if TYPE_CHECKING:
    from steersman.cli.loading import Loaded
    from steersman.operator.packaging import Engine, Release

__all__ = [
    "HaOption", "ImageOption", "ModuleArgument", "NameOption", "NamespaceOption", "Plan", "ReplicasOption",
    "WatchOption", "released",
]  # fmt: skip

ModuleArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODULE[:NAME]", help="A module or file; NAME selects one of its operators (default: all)."
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The name of the workload and its ServiceAccount.", show_default="KIND-operator"
    ),
]
NamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="The namespace that the operator runs in.",
        show_default="NAME",
    ),
]
WatchOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Watch this namespace only; can be repeated.",
        show_default="as the operator declares",
    ),
]
HaOption = Annotated[
    str | None,
    typer.Option(
        metavar="lease|raft|redis|postgres|none",
        help="The engine that elects a leader among the replicas.",
        show_default="as the operator declares",
    ),
]
ImageOption = Annotated[
    str, typer.Option(metavar="IMAGE", help="The container image of the operator's pods.")
]
ReplicasOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, help="The number of replicas.", show_default="1; 2 with an election, 3 with raft"
    ),
]


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for."""

    module: str
    name: str | None = None
    namespace: str | None = None
    watch: Sequence[str] | None = None
    ha: str | None = None
    image: str = "unused"
    replicas: int | None = None
    fencing: bool = False
    lock_secret: str = ""
    #: Whether name and namespace are known only when it is installed.
    is_open: bool = False


def released(plan: Plan) -> tuple[Loaded, Release]:
    """The module and its release. Raises CommandFailed for what would not work."""
    from steersman.cli.loading import load
    from steersman.objects.builders import BuildError, Container
    from steersman.operator import OperatorError
    from steersman.operator.packaging import Engine, Release, default_name, engine_of, take_part

    try:
        Container("operator").image(plan.image)
    except BuildError as error:
        raise CommandFailed(f"--image: {error.problem}", 2) from None
    loaded = load(plan.module)
    operators = loaded.operators()
    name = plan.name or default_name(operators)
    namespace = plan.namespace or name
    for operator in operators:
        if plan.watch:
            operator.in_namespaces(*plan.watch)
    try:
        declared = engine_of(operators)
        if plan.is_open and declared is Engine.RAFT:
            raise CommandFailed(
                "the operator's RaftConfig fixes names that a chart leaves open: leave it to --ha raft"
            )
        engine = declared if plan.ha is None else engine_named(plan.ha)
        chosen = take_part(operators, engine, name=name, namespace=namespace)
        release = Release(
            operators,
            name,
            namespace,
            plan.image,
            _command(plan, name, engine if chosen else None),
            plan.replicas,
            loaded.crds(),
            plan.fencing,
            plan.lock_secret,
            chosen,
        )
    except (OperatorError, BuildError) as error:
        raise CommandFailed(str(error)) from None
    return loaded, release


def _command(plan: Plan, name: str, engine: Engine | None) -> list[str]:
    """What the container runs: a module by its name, a file as it lies in the image's folder."""
    where, colon, chosen = plan.module.rpartition(":")
    module = where if colon else plan.module
    if module.endswith(".py"):
        module = Path(module).name
    command = ["steer", "run", f"{module}:{chosen}" if colon else module, "--log-format", "json"]
    for namespace in plan.watch or ():
        command += ["--namespace", namespace]
    if engine is not None:
        command += ["--ha", str(engine), "--name", name]
    return command
