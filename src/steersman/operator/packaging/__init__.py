"""What an operator needs to be run in a cluster, as manifests: pure functions from operators to objects.

`permissions` says what the operators may do and why, `rbac` makes roles of it, `release` says how they are to
be run, `workload` and `raft` make the pods, `manifests` puts it all in order, `chart` makes a Helm chart.
Nothing here talks to a cluster; the command line is the caller.
"""

from __future__ import annotations

from steersman.operator.packaging.election import LOCK_URL, RAFT_HOST, Engine, engine_of, take_part
from steersman.operator.packaging.manifests import manifests
from steersman.operator.packaging.permissions import Permission, permissions
from steersman.operator.packaging.rbac import rbac
from steersman.operator.packaging.release import Release, default_name

__all__ = [
    "LOCK_URL",
    "RAFT_HOST",
    "Engine",
    "Permission",
    "Release",
    "default_name",
    "engine_of",
    "manifests",
    "permissions",
    "rbac",
    "take_part",
]
