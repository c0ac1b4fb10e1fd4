"""Everything a cluster needs to run operators, in the order in which it can be applied.

The same operators and options give the same objects, in the same order, always.
"""

from __future__ import annotations

from typing import Final

from steersman.objects.builders import Namespace
from steersman.objects.kinds import Object
from steersman.operator.fencing import fencing_policy
from steersman.operator.packaging import raft as raft_cluster
from steersman.operator.packaging.rbac import rbac
from steersman.operator.packaging.release import Release
from steersman.operator.packaging.workload import budget, deployment, metrics_service, webhook_service

__all__ = ["manifests"]


#: There in every cluster, and not ours to describe.
_GIVEN_NAMESPACES: Final = ("default", "kube-system")


def manifests(release: Release) -> list[Object]:
    made: list[Object] = []
    if release.namespace not in _GIVEN_NAMESPACES:
        made.append(Namespace(release.namespace).pod_security("restricted").to_object())
    made += release.crds
    made += rbac(release.permissions, name=release.name, namespace=release.namespace)
    made.append(metrics_service(release))
    if release.webhooks:
        made.append(webhook_service(release))
    if release.replicas > 1:
        made.append(budget(release))
    raft = release.raft
    if raft is None:
        made.append(deployment(release))
    else:
        made += [
            raft_cluster.headless_service(release, raft),
            raft_cluster.network_policy(release, raft),
            raft_cluster.stateful_set(release, raft),
        ]
    if release.fencing:
        made += fencing_policy(release.operators)
    return made
