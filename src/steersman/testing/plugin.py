"""The pytest plugin: `cluster`, `namespace`, `client` and `run_operator`, in plain tests and in async ones.

    async def test_a_deployment_is_made(client, run_operator):
        await run_operator(op)
        await client.create(WebApp(...))
        await eventually(lambda: client.get(Deployment, "web"))

    def test_it_is_ready(cluster, client, run_operator):
        run_operator(op)
        cluster.run(client.create(WebApp(...)))

`async def` tests that use these fixtures run in the cluster's loop, without any other plugin; where there is
one for async tests, it is left to it, and the fixtures work in its loop. For virtual time, decorate a test
with `steersman.testing.virtual_time` and start a `Cluster` in it.

A project loads it with `pytest_plugins = ["steersman.testing.plugin"]` in its top conftest.py; it imports
nothing of Steersman until a fixture is used.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from steersman.client import Client
    from steersman.operator import Chain, Settings
    from steersman.testing.cluster import Cluster
    from steersman.testing.operators import RunningOperator

__all__ = ["OperatorRunner"]


@pytest.fixture(scope="session")
def cluster_options() -> dict[str, Any]:
    """Options of the session's cluster (`steersman.cluster.local.ClusterConfig`); override to set some."""
    return {}


@pytest.fixture(scope="session")
def cluster(cluster_options: dict[str, Any]) -> Iterator[Cluster]:
    """A cluster, the same for all tests of the session."""
    from steersman.testing.cluster import Cluster

    with Cluster(**cluster_options) as running:
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """The name of a namespace that only this test has; removed with its content."""
    from steersman.testing.namespaces import add_namespace, remove_namespace

    client = cluster.client()
    name = cluster.run(add_namespace(client))
    yield name
    cluster.run(remove_namespace(client, name))


@pytest.fixture
def client(cluster: Cluster, namespace: str) -> Client:
    """A client of the admin, at home in the test's namespace. Awaitable in any loop, or by `cluster.run`."""
    return cluster.client(namespace=namespace)


class OperatorRunner:
    """`run_operator(op)`: runs operators until the test is over."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._running: list[RunningOperator] = []

    def __call__(
        self, *operators: Chain[Any], settings: Settings | None = None, install: bool = True
    ) -> RunningOperator:
        """See `Cluster.run_operator`: in an async test, await this."""
        running = self._cluster.run_operator(*operators, settings=settings, install=install)
        self._running.append(running)
        return running

    def check(self) -> None:
        """Raise `OperatorDied` if one has ended by itself."""
        for running in self._running:
            running.check()

    def stop(self) -> None:
        for running in self._running:
            self._cluster.run(running.stop())


# It needs the namespace only so as to end before it: an operator should not see its content vanish.
@pytest.fixture
def run_operator(cluster: Cluster, namespace: str) -> Iterator[OperatorRunner]:
    """Runs operators in the background; a test whose operator dies fails with the operator's error."""
    runner = OperatorRunner(cluster)
    yield runner
    runner.stop()
    cluster.faults.clear()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a test whose operator has died, with what it died of."""
    runner = pyfuncitem.funcargs.get("run_operator")
    try:
        return (yield)
    finally:
        if isinstance(runner, OperatorRunner):
            runner.check()


@pytest.hookimpl(specname="pytest_pyfunc_call")
def pytest_async_call(pyfuncitem: pytest.Function) -> object | None:
    """Run an async test of a cluster in its loop. Plugins for async tests come before."""
    function = pyfuncitem.obj
    if not inspect.iscoroutinefunction(function) or "cluster" not in pyfuncitem.funcargs:
        return None
    from steersman.testing.cluster import Cluster

    cluster = pyfuncitem.funcargs["cluster"]
    if not isinstance(cluster, Cluster):
        return None
    names = inspect.signature(function).parameters
    cluster.run(function(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
