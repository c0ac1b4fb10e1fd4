"""A pytest plugin that has tests run on the original kube-apiserver instead of ours.

    scripts/real_server.py tests/integration/client

Wherever a test starts a cluster of ours (`LocalCluster`, `steersman.testing.Cluster`), etcd and kube-apiserver
are started in its place, and kube-controller-manager where the test asks for controllers. What only ours can do
(virtual time, nodes, a look into the store) is skipped, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import pytest

from steersman.aio import Clock, SystemClock
from steersman.cluster import local
from steersman.cluster.controllers.registry import CONTROLLERS, SCHEDULER, chosen
from steersman.cluster.local import MEMORY, ClusterConfig, LocalCluster
from steersman.http import Client as Http
from steersman.http import client_tls
from tests.originals.servers import OriginalCluster, original_cluster
from tests.sim import virtual_time

if TYPE_CHECKING:
    from steersman.cluster.in_process import InProcess

__all__ = ["OnTheOriginal"]


T = TypeVar("T")

_USUAL: Final = ClusterConfig()
_DEADLINE_S: Final = 110.0


class OnTheOriginal(LocalCluster):
    """What tests use of a `LocalCluster`, over the original."""

    def __init__(self, config: ClusterConfig, clock: Clock | None = None) -> None:
        super().__init__(config, clock)
        if not isinstance(clock, SystemClock | None):
            _leave("virtual time")
        for wanted, what in (
            (config.data != MEMORY, "a data folder"),
            (config.nodes or config.process_nodes, "nodes"),
            (config.authentication or config.audit_policy or config.encryption_key, "files of settings"),
            (config.enabled_admission, "admission plugins that are off otherwise"),
            (config.max_requests_inflight != _USUAL.max_requests_inflight, "limits of our own"),
            (config.history_s != _USUAL.history_s, "a history of another length"),
        ):
            if wanted:
                _leave(what)
        self._stack = ExitStack()
        self._original: OriginalCluster | None = None
        self._https: list[Http] = []

    async def start(self) -> None:
        config, controllers = self.config, chosen(self.config.controllers)
        options = [f"--disable-admission-plugins={','.join(config.disabled_admission)}"] * bool(
            config.disabled_admission
        )
        starting = original_cluster(
            controllers=bool(controllers & set(CONTROLLERS)),
            scheduler=SCHEDULER in controllers,
            token=config.admin_token,
            port=config.port,
            options=options,
        )
        # Beside the loop, which other clusters of the test may need.
        self._original = await asyncio.to_thread(self._stack.enter_context, starting)
        self.url, self.token = self._original.url, self._original.token
        self.kubeconfig = config.kubeconfig or self._original.kubeconfig
        if config.kubeconfig is not None:
            config.kubeconfig.write_bytes(self._original.kubeconfig.read_bytes())
        self.authority = self._original.authority

    async def stop(self) -> None:
        for http in self._https:
            await http.close()
        await asyncio.to_thread(self._stack.close)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def transport(self, user_agent: str = "steersman") -> InProcess:
        fields = ((b"User-Agent", user_agent.encode()),)
        http = Http(self.url, ssl=client_tls(ca=self.authority.pem), headers=fields)
        self._https.append(http)
        return http  # type: ignore[return-value]

    @property
    def store(self) -> Any:
        _leave("a look into the store")


def _leave(what: str) -> NoReturn:
    pytest.skip(f"the original has none: {what}", allow_module_level=True)


def _run_really(main: Coroutine[Any, Any, T], *_: Any, **__: Any) -> T:
    """What runs in virtual time otherwise. A test that lets hours pass does not end in time here."""
    return asyncio.run(asyncio.wait_for(main, _DEADLINE_S))


# Now, since modules that are collected take them by their names.
local.LocalCluster = OnTheOriginal  # type: ignore[misc]
virtual_time.run_virtual = _run_really


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if (mark := item.get_closest_marker("ours")) is not None:
            item.add_marker(pytest.mark.skip(reason=f"the original has none: {mark.args[0]}"))
