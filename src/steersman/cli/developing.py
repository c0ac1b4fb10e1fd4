"""What `steer run --dev` puts together: a cluster if one is wanted, and the process that is replaced."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from steersman.cli.announcing import announce
from steersman.cli.process import confirmed, run_briefly
from steersman.cli.reloading import reload, root_of

__all__ = ["develop"]


def develop(module: str, arguments: Sequence[str], *, cluster: bool, install_crds: bool) -> None:
    """Run until Ctrl-C. `arguments` are those of `steer run` for each process."""
    root_of(module)  # what is not there is said before anything is started
    if not cluster and not install_crds and sys.stdin.isatty():
        install_crds = confirmed("Install the custom resource definitions, now and when they change?")
    run_briefly(_develop(module, [module, *arguments], cluster=cluster, install_crds=install_crds))


async def _develop(module: str, arguments: list[str], *, cluster: bool, install_crds: bool) -> None:
    if not cluster:
        await reload(module, [*arguments, "--install-crds"] if install_crds else arguments)
        return
    from steersman.cluster.local import ClusterConfig, LocalCluster

    async with LocalCluster(ClusterConfig(controllers=("all",), nodes=1)) as local:
        announce(f"A cluster for this run is up at {local.url}", local.kubeconfig, "pods")
        await reload(module, [*arguments, "--install-crds", "--kubeconfig", str(local.kubeconfig)])
