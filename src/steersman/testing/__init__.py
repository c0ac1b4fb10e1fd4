"""The test kit: a cluster for tests, virtual time, faults, and assertions about what an operator does.

    async with Cluster() as cluster:                     # or `with Cluster() as cluster:` in plain code
        async with cluster.run_operator(op):
            client = cluster.client()
            await client.create(WebApp(...))
            await eventually(lambda: client.get(Deployment, "web"))

The pytest plugin has the same as fixtures; `pytest_plugins = ["steersman.testing.plugin"]` in a conftest.py
loads it. Start reading at `cluster`, then `virtual` and `faults`.

Names are loaded when first used: a test that needs no cluster does not pay for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.lazy import lazy_names

if TYPE_CHECKING:
    from steersman.testing.cluster import Cluster
    from steersman.testing.errors import KubectlFailed, NotYet, OperatorDied, WritesMade
    from steersman.testing.faults import Fault, Faults
    from steersman.testing.operators import RunningOperator
    from steersman.testing.requests import ApiRequest
    from steersman.testing.virtual import VirtualClock, run_virtual, virtual_time
    from steersman.testing.waiting import eventually
    from steersman.testing.workloads import mark_ready

__all__ = [
    "ApiRequest",
    "Cluster",
    "Fault",
    "Faults",
    "KubectlFailed",
    "NotYet",
    "OperatorDied",
    "RunningOperator",
    "VirtualClock",
    "WritesMade",
    "eventually",
    "mark_ready",
    "run_virtual",
    "virtual_time",
]

_MODULES = {
    "cluster": "Cluster",
    "errors": "KubectlFailed NotYet OperatorDied WritesMade",
    "faults": "Fault Faults",
    "operators": "RunningOperator",
    "requests": "ApiRequest",
    "virtual": "VirtualClock run_virtual virtual_time",
    "waiting": "eventually",
    "workloads": "mark_ready",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES)
