"""`steer run`: operators in the foreground, against a cluster or one started for them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from steersman.cli import run_options as options
from steersman.cli.announcing import announce
from steersman.cli.failure import CommandFailed
from steersman.cli.options import ContextOption, KubeconfigOption, LogLevel
from steersman.cli.packaged import ModuleArgument
from steersman.cli.process import require_cluster_packages, run_loop
from steersman.cli.run_options import LogFormat

if TYPE_CHECKING:
    from steersman.cli.loading import Loaded
    from steersman.client import Client
    from steersman.operator import Settings
    from steersman.operator.configuration import Configuration

__all__ = ["run"]

_EXAMPLES = """Run operators in the foreground; Ctrl-C stops them.

Examples:

\b
  steer run webapp.py --cluster          with a temporary cluster
  steer run webapp.py --cluster --dev    restart whenever the code changes
  steer run webapp.py --install-crds     in the cluster of the kubeconfig
  steer run webapp.py --ha lease         with leader election
  steer run shop.operators:orders --namespace shop --namespace test

\b
  curl 'localhost:8080/readyz?verbose'   health; also /healthz, /metrics
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What was asked for."""

    kubeconfig: Path | None
    context: str | None
    cluster: bool
    install_crds: bool
    settings: Settings


def run(
    ctx: typer.Context,
    module: ModuleArgument,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: options.NamespacesOption = None,
    cluster: options.ClusterOption = False,
    install_crds: options.InstallOption = False,
    dev: options.DevOption = False,
    ha: options.ElectionOption = None,
    name: options.ElectionNameOption = None,
    metrics_bind: options.ProbesOption = ":8080",
    log_format: options.LogFormatOption = LogFormat.AUTO,
    log_level: options.LogLevelOption = LogLevel.INFO,
    config: options.ConfigOption = None,
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
    plan = _Plan(kubeconfig, context, cluster, install_crds or cluster, settings)
    logs.set_up(level=configuration.log_level, style=configuration.log_format)
    loaded = load(module)
    configuration.apply(loaded.operators())
    if ha is not None:
        elect(loaded.operators(), ha, name)
    _run(loaded, plan)


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


def _run(loaded: Loaded, plan: _Plan) -> None:
    from steersman.runtime.errors import AddressInUse

    try:
        run_loop(_serve(loaded, plan))
    except AddressInUse as error:
        raise CommandFailed(f"--metrics-bind: {error}; choose another, or off") from None


async def _serve(loaded: Loaded, plan: _Plan) -> None:
    from steersman.cli.installing import check_api, install, wants_installed
    from steersman.operator import assemble
    from steersman.runtime import Metrics

    operators = loaded.operators()
    async with _connected(plan, loaded) as client:
        metrics = Metrics()
        client.observe_requests(metrics.observe_requests(client.host))
        if plan.install_crds or await wants_installed(client, operators):
            await install(client, loaded.crds())
        await check_api(client, operators)
        names = ", ".join(operator.definition.name for operator in operators)
        _log.info("running %s at %s", names, client.host)
        manager = assemble(operators, client, settings=plan.settings, metrics=metrics)
        await manager.run_until_signalled()


@asynccontextmanager
async def _connected(plan: _Plan, loaded: Loaded) -> AsyncIterator[Client]:
    if not plan.cluster:
        from steersman.client import Client

        async with Client.load(kubeconfig=plan.kubeconfig, context=plan.context) as client:
            yield client
        return
    from steersman.cluster.local import ClusterConfig, LocalCluster

    async with (
        LocalCluster(ClusterConfig(controllers=("all",), nodes=1)) as cluster,
        cluster.client() as client,
    ):
        kinds = ",".join(operator.definition.resource.plural for operator in loaded.operators())
        announce(f"A cluster for this run is up at {cluster.url}", cluster.kubeconfig, kinds)
        yield client
