"""The pytest plugin: `cluster`, `namespace`, `client` and `run_operator`, and `async def` tests and fixtures.

    async def test_a_deployment_is_made(client, run_operator):
        await run_operator(op)
        await client.create(WebApp(...))
        await eventually(lambda: client.get(Deployment, "web"))

    def test_it_is_ready(cluster, client, run_operator):
        run_operator(op)
        cluster.run(client.create(WebApp(...)))

Async tests and fixtures run in one loop, the cluster's, without any other plugin. Where pytest-asyncio or
anyio runs a test, it is left to them, and the fixtures here work in their loop. For virtual time, decorate a
test with `steersman.testing.virtual_time` and start a `Cluster` in it.

A project loads it with `pytest_plugins = ["steersman.testing.plugin"]` in its top conftest.py. It does not
load by itself wherever Steersman is installed: other plugins have a `client`, too. It imports nothing of
Steersman until a fixture or an async test is used.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from steersman.client import Client
    from steersman.operator import Chain, Settings
    from steersman.testing.async_tests import AsyncTests
    from steersman.testing.cluster import Cluster
    from steersman.testing.operators import RunningOperator

__all__ = ["OperatorRunner"]

_ASYNC = pytest.StashKey["AsyncTests"]()
_ITEM = pytest.StashKey[pytest.Item]()


@pytest.fixture(scope="session")
def cluster_options() -> dict[str, Any]:
    """Options of the session's cluster (`steersman.cluster.local.ClusterConfig`); override to set some."""
    return {}


@pytest.fixture(scope="session")
def cluster(cluster_options: dict[str, Any], pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """A cluster, the same for all tests of the session."""
    from steersman.testing.cluster import Cluster

    home = _async_tests(pytestconfig).loop
    running = Cluster(**cluster_options)
    home.run(running.__aenter__())
    yield running
    home.run(running.__aexit__(None, None, None))


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


# Plugins for async tests come before: they make the test a plain one, or try first.
@pytest.hookimpl(specname="pytest_pyfunc_call")
def pytest_async_call(pyfuncitem: pytest.Function) -> object | None:
    """Run an async test that nobody else runs."""
    function = pyfuncitem.obj
    examples = getattr(function, "hypothesis", None)
    if examples is not None and inspect.iscoroutinefunction(examples.inner_test):
        examples.inner_test = _async_tests(pyfuncitem.config).plain(examples.inner_test)
    if not inspect.iscoroutinefunction(function):
        return None
    names = inspect.signature(function).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names if name in pyfuncitem.funcargs}
    _async_tests(pyfuncitem.config).plain(function)(**arguments)
    return True


# Innermost: what others take is plain by then.
@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Set up an async fixture that nobody else does, unless it is for a test that somebody else runs."""
    function = fixturedef.func
    if not (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
        return (yield)
    if _is_others(request.config):
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixturedef, "func", _async_tests(request.config).plain_fixture(function, request.scope))
        return (yield)


def _is_others(config: pytest.Config) -> bool:
    """Whether the test that is being set up is marked for another plugin: its loop is not ours."""
    item = config.stash.get(_ITEM, None)
    return item is not None and any(
        config.pluginmanager.has_plugin(name) and item.get_closest_marker(name)
        for name in ("asyncio", "trio")
    )


def _async_tests(config: pytest.Config) -> AsyncTests:
    from steersman.testing.async_tests import AsyncTests

    if _ASYNC not in config.stash:
        config.stash[_ASYNC] = AsyncTests()
    return config.stash[_ASYNC]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[_ITEM] = item
    if _ASYNC in item.config.stash:
        item.config.stash[_ASYNC].next_test()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _ASYNC in config.stash:
        config.stash[_ASYNC].close()
