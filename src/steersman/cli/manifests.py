"""`steer manifests`: everything a cluster needs to run operators."""

from __future__ import annotations

from typing import Annotated

import typer

from steersman.cli.emitting import Format, emit
from steersman.cli.packaged import (
    HaOption,
    ImageOption,
    ModuleArgument,
    NameOption,
    NamespaceOption,
    Plan,
    ReplicasOption,
    WatchOption,
    released,
)

__all__ = ["manifests"]

_EXAMPLES = """Print the manifests to run operators in a cluster.

These are a namespace, CustomResourceDefinitions, RBAC rules and a workload. With --ha raft, the replicas
form a Raft cluster (StatefulSet, persistent volumes, NetworkPolicy) and use TLS with the certificates of
the Secret NAME-raft-tls (ca.crt, tls.crt, tls.key), such as those that cert-manager issues. With redis
and postgres, the URL of the store is the key `url` of the Secret NAME-lock.

Examples:

\b
  steer manifests webapp.py --image webapp:1 | kubectl apply -f -
  steer manifests shop.operators --image shop:2 --ha raft --fencing
"""


def manifests(
    module: ModuleArgument,
    image: ImageOption,
    name: NameOption = None,
    namespace: NamespaceOption = None,
    replicas: ReplicasOption = None,
    ha: HaOption = None,
    watch_namespace: WatchOption = None,
    fencing: Annotated[
        bool, typer.Option("--fencing", help="Have the API server reject late writes of former leaders.")
    ] = False,
    lock_secret: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The name of the Secret with the URL of Redis or PostgreSQL.",
            show_default="NAME-lock",
        ),
    ] = "",
    output: Annotated[
        Format, typer.Option(help="The output format: YAML documents, or a List in JSON.")
    ] = Format.YAML,
) -> None:
    from steersman.operator.packaging import manifests as made

    plan = Plan(module, name, namespace, watch_namespace, ha, image, replicas, fencing, lock_secret)
    _, release = released(plan)
    emit(made(release), output)


manifests.__doc__ = _EXAMPLES
