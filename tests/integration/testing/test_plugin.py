"""The pytest plugin in projects that use it."""

from __future__ import annotations

import pytest

from steersman.testing import Cluster
from tests.integration.testing.webapps import WebApps

pytest_plugins = ["pytester"]

#: Other plugins are not needed, and slow to load.
ALONE = (
    "-p",
    "steersman.testing.plugin",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:hypothesispytest",
    "-p",
    "no:anyio",
    "-p",
    "no:asyncio",
)
OPERATOR = """
import pytest

from steersman.client import NotFound
from steersman.objects.builders import ConfigMap, Deployment
from steersman.operator import Operator
from steersman.testing import Cluster, eventually, virtual_time
from tests.integration.testing.webapps import WebApp, WebApps, web_app
"""


@pytest.fixture(scope="module", autouse=True)
def everything_is_loaded() -> None:
    """pytester unloads what a run has loaded, which libraries in other languages do not survive."""
    with Cluster() as cluster:
        cluster.run_operator(WebApps().operator())


def run(pytester: pytest.Pytester, tests: str) -> pytest.RunResult:
    pytester.makepyfile(OPERATOR + tests)
    return pytester.runpytest_inprocess("-W", "error", *ALONE)


def test_async_tests_need_no_other_plugin(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
async def test_deployment(client, namespace, run_operator):
    await run_operator(WebApps().operator())
    await client.create(web_app("a"))
    made = await eventually(lambda: client.find(Deployment, "a"))
    assert made.namespace == namespace

@pytest.mark.parametrize("name", ["x", "y"])
async def test_parameters(cluster, name):
    assert name in "xy"

async def test_wrong(client):
    await client.get(ConfigMap, "not-there")
""",
    )
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(['E*NotFound: configmaps "not-there" not found'])


def test_plain_tests(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
def test_deployment(cluster, client, namespace, run_operator):
    run_operator(WebApps().operator())
    cluster.run(client.create(web_app("a")))
    made = cluster.run(eventually(lambda: client.find(Deployment, "a")))
    assert made.namespace == namespace
""",
    )
    result.assert_outcomes(passed=1)


def test_every_test_has_a_namespace_of_its_own_that_is_gone_after_it(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
seen = []

@pytest.mark.parametrize("round", range(3))
async def test_alone(cluster, client, namespace, run_operator, round):
    assert [obj.name for obj in await client.list(ConfigMap, namespace)] == []
    await client.create(ConfigMap("a").raw("metadata.finalizers", ["example.com/for-ever"]))
    everywhere = {obj.namespace for obj in await cluster.client().list(ConfigMap)}
    assert everywhere.isdisjoint(seen)
    assert namespace not in seen
    seen.append(namespace)
""",
    )
    result.assert_outcomes(passed=3)


def test_a_test_fails_with_the_error_of_its_operator(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
async def test_dies(client, run_operator):
    run_operator(Operator(WebApp))
    await eventually(lambda: client.find(Deployment, "a"), 0.3)

async def test_awaited(run_operator):
    await run_operator(Operator(WebApp))

def test_plain(run_operator):
    run_operator(Operator(WebApp))
""",
    )
    result.assert_outcomes(failed=3)
    died = "E*OperatorDied: the operator ended: OperatorError: the operator * has nothing to do*"
    result.stdout.fnmatch_lines([died, died, died])


def test_faults_end_with_the_test(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
async def test_faulty(cluster, run_operator):
    cluster.faults.refuse(500)

async def test_fine(cluster, client):
    await cluster.client(faulty=True).list(ConfigMap)
""",
    )
    result.assert_outcomes(passed=2)


def test_virtual_time_and_fixtures_of_others_go_together(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@virtual_time
async def test_day(tmp_path):
    assert tmp_path.exists()
    async with Cluster() as cluster:
        await cluster.clock.advance(3600)
""",
    )
    result.assert_outcomes(passed=1)


def test_examples_of_hypothesis_may_be_async(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
from hypothesis import given, settings, strategies

@given(strategies.integers())
@settings(max_examples=5, database=None, derandomize=True)
async def test_every_number(client, number):
    assert await client.find(ConfigMap, "a") is None
    assert number == number + 0

@given(strategies.integers(min_value=10))
@settings(max_examples=5, database=None, derandomize=True)
async def test_wrong(number):
    assert number < 10
""",
    )
    result.assert_outcomes(passed=1, failed=1)


def test_the_clusters_options_are_the_projects(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
import pytest

@pytest.fixture(scope="session")
def cluster_options():
    return {"admin_token": "ours"}
"""
    )
    result = run(
        pytester,
        """
def test_token(cluster):
    assert cluster.server.token == "ours"
""",
    )
    result.assert_outcomes(passed=1)


def test_async_tests_of_others_are_left_alone(pytester: pytest.Pytester) -> None:
    """A test that another plugin runs, in a loop of its own, and one that nobody else does."""
    pytester.makeconftest(
        """
import asyncio, inspect, pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if pyfuncitem.get_closest_marker("theirs"):
        names = inspect.signature(pyfuncitem.obj).parameters
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True

def pytest_configure(config):
    config.addinivalue_line("markers", "theirs: run by this plugin")
"""
    )
    result = run(
        pytester,
        """
import threading

@pytest.mark.theirs
async def test_theirs(client, run_operator):
    assert threading.current_thread() is threading.main_thread()
    await run_operator(WebApps().operator())
    await client.create(web_app("a"))
    await eventually(lambda: client.find(Deployment, "a"))

async def test_ours():
    assert threading.current_thread() is not threading.main_thread()
""",
    )
    result.assert_outcomes(passed=2)
