"""`steer run`: operators in the foreground, against a cluster or one started for them."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.options import LogLevel
from steersman.cli.process import require_cluster_packages, run_loop

if TYPE_CHECKING:
    from steersman.cli.loading import Loaded
    from steersman.client import Client
    from steersman.cluster.local import LocalCluster
    from steersman.operator import Settings
    from steersman.operator.configuration import Configuration

__all__ = ["run"]

_EXAMPLES = """Run operators in the foreground; Ctrl-C stops them.

Examples:

  steer run webapp.py --cluster              in a cluster of their own, gone afterwards

  steer run webapp.py --install-crds         in the cluster of the kubeconfig, or of the pod

  steer run shop.operators:orders --namespace shop --namespace test

  steer run webapp.py --ha lease             one of several leads, the others stand by

  steer run webapp.py --cluster --dev        start again whenever the code changes

  curl localhost:8080/readyz?verbose         and /healthz, /metrics
"""

_log = logging.getLogger(__name__)


class LogFormat(StrEnum):
    AUTO = "auto"
    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class _Options:
    kubeconfig: Path | None
    context: str | None
    cluster: bool
    install_crds: bool
    settings: Settings


def run(
    ctx: typer.Context,
    module: Annotated[
        str,
        typer.Argument(
            metavar="MODULE[:NAME]",
            help="A module's name or a file; NAME is one of its operators, else all run.",
        ),
    ],
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Whom to talk to.", show_default="KUBECONFIG, the pod's, or ~/.kube/config"
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The kubeconfig's context.", show_default="its current one"),
    ] = None,
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Work in this namespace only; can be repeated.", show_default="all"
        ),
    ] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Start a cluster for this run, which keeps nothing.")
    ] = False,
    install_crds: Annotated[
        bool,
        typer.Option(
            "--install-crds",
            "--install",
            help="Install the custom resource definitions first (--cluster always does); else you are asked.",
        ),
    ] = False,
    dev: Annotated[bool, typer.Option("--dev", help="Start again whenever the code changes.")] = False,
    ha: Annotated[
        str | None,
        typer.Option(
            metavar="lease|raft|redis|postgres",
            help="Take part in an election, for operators that declare none; one replica leads.",
            show_default="as the operator says",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What --ha elects the leader of.", show_default="KIND-operator"),
    ] = None,
    metrics_bind: Annotated[
        str, typer.Option(metavar="[HOST]:PORT", help="Where probes and metrics listen; off for nowhere.")
    ] = ":8080",
    log_format: Annotated[
        LogFormat, typer.Option(help="Of the log on standard error; auto is text on a terminal.")
    ] = LogFormat.AUTO,
    log_level: Annotated[LogLevel, typer.Option(help="What to log.")] = LogLevel.INFO,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Options in YAML or TOML; flags and STEERSMAN_… variables come before them."
        ),
    ] = None,
) -> None:
    from steersman.cli.developing import develop
    from steersman.cli.electing import elect
    from steersman.cli.loading import load
    from steersman.operator import Settings
    from steersman.runtime import logs

    if cluster:
        _check_cluster(kubeconfig, context)
    flags = {
        "namespaces": ",".join(namespace or ()) or None,
        "metrics-bind": metrics_bind if _is_given(ctx, "metrics_bind") else None,
        "log-format": log_format.value if _is_given(ctx, "log_format") else None,
        "log-level": log_level.value if _is_given(ctx, "log_level") else None,
    }
    configuration = _configuration(config, flags)
    if dev:
        words = _words(kubeconfig=kubeconfig, context=context, config=config, ha=ha, name=name)
        for option in ("metrics-bind", "log-format", "log-level"):
            words += _words(**{option: flags[option]})
        for each in namespace or ():
            words += _words(namespace=each)
        develop(module, words, cluster=cluster, install_crds=install_crds)
        return
    settings = configuration.settings(Settings())
    options = _Options(kubeconfig, context, cluster, install_crds or cluster, settings)
    logs.set_up(level=configuration.log_level, style=configuration.log_format)
    loaded = load(module)
    configuration.apply(loaded.operators())
    if ha is not None:
        elect(loaded.operators(), ha, name)
    _run(loaded, options)


run.__doc__ = _EXAMPLES


def _check_cluster(kubeconfig: Path | None, context: str | None) -> None:
    given = [name for name, value in (("--kubeconfig", kubeconfig), ("--context", context)) if value]
    if given:
        raise CommandFailed(f"--cluster starts a cluster and cannot be used with {given[0]}", 2)
    require_cluster_packages()


def _words(**options: object) -> list[str]:
    """Options as they are given on a command line; those that are None are not."""
    given = {name: value for name, value in options.items() if value is not None}
    return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def _is_given(ctx: typer.Context, parameter: str) -> bool:
    source = ctx.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def _configuration(config: Path | None, flags: dict[str, str | None]) -> Configuration:
    from steersman.operator.configuration import Configuration, ConfigurationError

    try:
        return Configuration.load(config, flags)
    except ConfigurationError as error:
        raise CommandFailed(str(error), 2) from None


def _run(loaded: Loaded, options: _Options) -> None:
    from steersman.client import ClientError
    from steersman.operator import OperatorError
    from steersman.runtime.errors import AddressInUse
    from steersman.webhooks import WebhookError

    try:
        run_loop(_serve(loaded, options))
    except AddressInUse as error:
        raise CommandFailed(f"--metrics-bind: {error}") from None
    except (ClientError, OperatorError, WebhookError) as error:
        raise CommandFailed(" ".join(str(error).split())) from None


async def _serve(loaded: Loaded, options: _Options) -> None:
    from steersman.cli.installing import check_served, install, wants_installed
    from steersman.operator import assemble
    from steersman.runtime import Metrics

    operators = loaded.operators()
    async with _connected(options, loaded) as client:
        metrics = Metrics()
        client.observe_requests(metrics.observe_requests(client.host))
        if options.install_crds or await wants_installed(client, operators):
            await install(client, loaded.crds())
        await check_served(client, operators, loaded.text)
        names = ", ".join(operator.definition.name for operator in operators)
        _log.info("running %s at %s", names, client.host)
        manager = assemble(operators, client, settings=options.settings, metrics=metrics)
        await manager.run_until_signalled()


@asynccontextmanager
async def _connected(options: _Options, loaded: Loaded) -> AsyncIterator[Client]:
    if not options.cluster:
        from steersman.client import Client

        async with Client.load(kubeconfig=options.kubeconfig, context=options.context) as client:
            yield client
        return
    from steersman.cluster.local import ClusterConfig, LocalCluster

    async with (
        LocalCluster(ClusterConfig(controllers=("all",), nodes=1)) as cluster,
        cluster.client() as client,
    ):
        plurals = [operator.definition.resource.plural for operator in loaded.operators()]
        _announce(cluster, plurals)
        yield client


def _announce(cluster: LocalCluster, plurals: Sequence[str]) -> None:
    sys.stdout.write(
        f"A cluster for this run is up at {cluster.url}. "
        f"Use it: kubectl --kubeconfig {cluster.kubeconfig} get {','.join(plurals)}   Stop: Ctrl-C\n"
    )
    sys.stdout.flush()
