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

_EXAMPLES = """Print all that a cluster needs to run operators.

That is a namespace, the definitions, rights and pods. With --ha raft the replicas are a Raft cluster
(StatefulSet, disks, network policy); they talk TLS with the certificates of the Secret NAME-raft-tls (ca.crt,
tls.crt, tls.key), such as cert-manager makes. With redis and postgres the address of the store is the key
`url` of the Secret NAME-lock.

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
        bool, typer.Option("--fencing", help="Have the API refuse late writes of former leaders.")
    ] = False,
    lock_secret: Annotated[
        str, typer.Option(metavar="NAME", help="The Secret of redis or postgres.", show_default="NAME-lock")
    ] = "",
    output: Annotated[Format, typer.Option(help="YAML documents, or a List as JSON.")] = Format.YAML,
) -> None:
    from steersman.operator.packaging import manifests as made

    plan = Plan(module, name, namespace, watch_namespace, ha, image, replicas, fencing, lock_secret)
    _, release = released(plan)
    emit(made(release), output)


manifests.__doc__ = _EXAMPLES
