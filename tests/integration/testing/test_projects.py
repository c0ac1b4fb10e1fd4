"""The pytest plugin in projects of users, alone and beside the plugins for async tests that they have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.outside import Project, environment

CONFTEST = 'pytest_plugins = ["steersman.testing.plugin"]\n'

SHOP = """
from steersman.objects.builders import ConfigMap
from steersman.objects.custom import CustomResource, Model
from steersman.operator import Action, Context, Operator


class ShopSpec(Model):
    text: str = "open"


class Shop(CustomResource, group="outside.example.com", version="v1"):
    spec: ShopSpec = ShopSpec()


op = Operator(Shop).owns(ConfigMap)


@op.reconcile
async def reconcile(ctx: Context[Shop]) -> Action:
    await ctx.apply(ConfigMap(ctx.name).data("text", ctx.resource.spec.text))
    return Action.done()
"""

#: What works whoever runs the tests. All of it is taken by pytest-asyncio in its auto mode.
ANYBODYS = """
import asyncio
import threading

import pytest
from shop import ConfigMap, Shop, op

from steersman.testing import Cluster, eventually, virtual_time


@pytest.fixture
async def number():
    await asyncio.sleep(0)
    return 7


@pytest.fixture
async def lent():
    parts = ["lent"]
    yield parts
    await asyncio.sleep(0)
    parts.append("returned")


async def test_an_async_test_without_any_fixture():
    await asyncio.sleep(0)


@pytest.mark.parametrize("factor", [1, 2])
async def test_an_async_fixture(number, lent, factor):
    assert (number * factor, lent) in ((7, ["lent"]), (14, ["lent"]))


class TestClass:
    @pytest.fixture
    async def own(self):
        self.made = True
        yield "own"

    async def test_a_fixture_of_a_class(self, own):
        assert own == "own"
        assert self.made


async def test_a_cluster_of_its_own():
    async with Cluster() as cluster:
        assert await cluster.client().find(ConfigMap, "a") is None


async def test_an_operator_with_the_fixtures(client, run_operator, number):
    await run_operator(op)
    await client.create(Shop.from_object({"metadata": {"name": "a"}}))
    made = await eventually(lambda: client.find(ConfigMap, "a"))
    assert made.value("text") == "open"


def test_a_plain_test(cluster, client, run_operator):
    run_operator(op)
    cluster.run(client.create(Shop.from_object({"metadata": {"name": "a"}})))
    cluster.run(eventually(lambda: client.find(ConfigMap, "a")))


@virtual_time
async def test_a_day():
    async with Cluster() as cluster:
        await cluster.clock.advance(86_400)
"""

#: What the plugin does for the tests that it runs itself.
OURS = """
import asyncio
import contextvars
import threading

import pytest
from shop import ConfigMap, Shop, op

from steersman.testing import Cluster, eventually

SHELF = contextvars.ContextVar("shelf", default="empty")
seen = []


@pytest.fixture(scope="session")
async def queue():
    waiting = asyncio.Queue()
    feeding = asyncio.create_task(waiting.put("fed"))
    yield waiting
    await feeding
    seen.append("session over")


@pytest.fixture(scope="module", autouse=True)
async def module_wide(queue):
    SHELF.set("module")
    yield
    assert "function over" in seen


@pytest.fixture
async def tasks():
    async with asyncio.TaskGroup() as group:
        yield group
    seen.append("function over")


@pytest.fixture
async def shelf(tasks):
    SHELF.set("function")


@pytest.fixture
async def broken():
    raise ValueError("broken by itself")
    yield


async def test_fixtures_of_all_scopes_share_the_loop(queue, tasks):
    await asyncio.wait_for(queue.get(), 10)
    done = asyncio.Event()

    async def work():
        done.set()

    tasks.create_task(work())
    await asyncio.wait_for(done.wait(), 10)


async def test_what_a_fixture_sets_in_its_context_is_there(shelf):
    assert SHELF.get() == "function"


async def test_and_only_there(tasks):
    assert SHELF.get() == "module"


async def test_the_loop_is_the_clusters(cluster, client, run_operator):
    assert threading.current_thread() is not threading.main_thread()
    await run_operator(op)
    await client.create(Shop.from_object({"metadata": {"name": "a"}}))
    await eventually(lambda: client.find(ConfigMap, "a"))


def test_a_plain_test_of_an_async_fixture(queue, cluster):
    assert queue.empty()


@pytest.mark.xfail(raises=ValueError, strict=True)
async def test_a_fixture_that_fails(broken):
    pass


@pytest.mark.xfail(raises=SystemExit, strict=True)
async def test_an_exit_ends_the_test_and_not_the_loop():
    raise SystemExit(3)


async def test_a_skip():
    pytest.skip("says the test")


@pytest.fixture(scope="module")
async def cluster_of_the_module():
    async with Cluster() as cluster:
        yield cluster


async def test_a_cluster_wider_than_a_test(cluster_of_the_module):
    await cluster_of_the_module.client().list(ConfigMap)


def test_which_plain_code_can_use(cluster_of_the_module):
    cluster_of_the_module.run(cluster_of_the_module.client().list(ConfigMap))
"""

#: Tests that are another plugin's, with the cluster's fixtures in its loop.
THEIRS = """
import asyncio
import threading

import pytest
from shop import ConfigMap, Shop, op

from steersman.testing import eventually

pytestmark = pytest.mark.{mark}

{preamble}

async def test_theirs(client, run_operator, theirs):
    assert threading.current_thread() is threading.main_thread()
    assert theirs is asyncio.get_running_loop()
    await run_operator(op)
    await client.create(Shop.from_object({{"metadata": {{"name": "a"}}}}))
    await eventually(lambda: client.find(ConfigMap, "a"))
"""

PYTEST_ASYNCIO = """
import pytest_asyncio

@pytest_asyncio.fixture
async def theirs():
    yield asyncio.get_running_loop()
"""

ANYIO = """
@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
async def theirs(anyio_backend):
    yield asyncio.get_running_loop()
"""


@dataclass(frozen=True)
class Beside:
    """What else a project has, and how many tests pass."""

    installed: tuple[str, ...] = ()
    settings: str = ""
    files: tuple[tuple[str, str], ...] = ()
    passed: int = 8 + 7


BESIDE = {
    "alone": Beside(files=(("test_ours.py", OURS),)),
    "pytest-asyncio auto": Beside(
        ("pytest-asyncio",),
        "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n",
        (("test_theirs.py", THEIRS.format(mark="asyncio", preamble=PYTEST_ASYNCIO)),),
        passed=8 + 1,
    ),
    "pytest-asyncio strict": Beside(
        ("pytest-asyncio",),
        "asyncio_mode = strict\nasyncio_default_fixture_loop_scope = function\n",
        (
            ("test_ours.py", OURS),
            ("test_theirs.py", THEIRS.format(mark="asyncio", preamble=PYTEST_ASYNCIO)),
        ),
        passed=8 + 7 + 1,
    ),
    "anyio": Beside(
        ("anyio",),
        "",
        (("test_ours.py", OURS), ("test_theirs.py", THEIRS.format(mark="anyio", preamble=ANYIO))),
        passed=8 + 7 + 1,
    ),
}


def project(folder: Path, *requirements: str) -> Project:
    python = environment(folder / "venv", "steersman[cluster]", "pytest", *requirements)
    inside = folder / "project"
    inside.mkdir()
    return Project(inside, python)


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_async_tests_and_fixtures_work_in_any_project(tmp_path: Path, beside: Beside) -> None:
    ours = project(tmp_path, *beside.installed)
    ours.write(
        {
            "pytest.ini": f"[pytest]\naddopts = --strict-markers\n{beside.settings}",
            "conftest.py": CONFTEST,
            "shop.py": SHOP,
            "test_anybodys.py": ANYBODYS,
            **dict(beside.files),
        }
    )
    said = ours.pytest()
    assert f" {beside.passed} passed" in said, said


def test_it_loads_nothing_of_steersman_and_starts_nothing_until_it_is_used(tmp_path: Path) -> None:
    ours = project(tmp_path)
    ours.write(
        {
            "conftest.py": CONFTEST,
            "test_plain.py": """
import sys
import threading

def test_nothing_is_loaded():
    loaded = {name for name in sys.modules if name.startswith("steersman.")}
    assert loaded == {"steersman.lazy", "steersman.testing", "steersman.testing.plugin"}
    assert threading.active_count() == 1
""",
        }
    )
    ours.pytest()


def test_a_project_without_the_line_keeps_its_fixtures_and_its_async_tests(tmp_path: Path) -> None:
    """Wherever Steersman is installed, a `client` may be somebody else's."""
    ours = project(tmp_path)
    ours.write({"test_plain.py": "def test_it(client): pass\n\nasync def test_async(): pass\n"})
    done = ours.run("python", "-m", "pytest")
    assert "fixture 'client' not found" in done.stdout
    assert "async def functions are not natively supported" in done.stdout


def test_an_async_fixture_that_is_nobodys_says_so(tmp_path: Path) -> None:
    """pytest-asyncio's test in its strict mode, and a fixture that is not marked as its own."""
    ours = project(tmp_path, "pytest-asyncio")
    ours.write(
        {
            "conftest.py": CONFTEST,
            "test_mixed.py": """
import pytest

@pytest.fixture
async def unmarked():
    return 1

@pytest.mark.asyncio
async def test_marked(unmarked): pass
""",
        }
    )
    done = ours.run("python", "-m", "pytest")
    assert "requested an async fixture 'unmarked'" in done.stdout
