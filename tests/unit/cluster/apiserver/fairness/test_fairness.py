"""Requests through the limiter: classification, waiting, 429, and the default objects."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.cluster.admission import build_chain
from steersman.cluster.apiserver.bootstrap.flow_control import install_flow_control, keep_flow_control
from steersman.cluster.apiserver.fairness import (
    Fairness,
    RequestDigest,
    Ticket,
    stored_count,
)
from steersman.cluster.apiserver.fairness.configuration import Configuration
from steersman.cluster.apiserver.fairness.defaults import LEVELS, SCHEMAS, level_object, schema_object
from steersman.cluster.apiserver.fairness.estimate import width_of
from steersman.cluster.apiserver.pipeline.access import Access
from steersman.cluster.apiserver.pipeline.call import Api, StoreReader
from steersman.cluster.apiserver.reading.watch import WatchHubs
from steersman.cluster.apiserver.resources.allocation import ServiceAllocator
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.apiserver.resources.storage_encoding import encode, stamp
from steersman.cluster.auth.authentication import StaticTokens
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.jwt import SigningKey
from steersman.cluster.auth.users import ANONYMOUS, User, account_groups
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.schema.resources import all_resources
from steersman.cluster.schema.validation import validate_create
from steersman.cluster.store.memory import MemoryStore
from steersman.objects.status import StatusError

GROUP = "flowcontrol.apiserver.k8s.io"
AUTHENTICATED = "system:authenticated"
PATIENCE_S = 20.0


def account(namespace: str, name: str) -> User:
    groups = (*account_groups(namespace), AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups=groups)


ADMIN = User("admin", groups=("system:masters", AUTHENTICATED))
ANN = User("ann", groups=(AUTHENTICATED,))
NODE = User("system:node:n1", groups=("system:nodes", AUTHENTICATED))
MANAGER = User("system:kube-controller-manager", groups=(AUTHENTICATED,))
BOT = account("ns", "bot")
SYSTEM_BOT = account("kube-system", "bot")

PODS = Action("get", "", "v1", "pods", "", "ns", "p")
LEASE = Action("update", "coordination.k8s.io", "v1", "leases", "", "kube-system", "l")
NODE_STATUS = Action("patch", "", "v1", "nodes", "status", "", "n1")


def configuration() -> Configuration:
    return Configuration(map(level_object, LEVELS), map(schema_object, SCHEMAS))


@pytest.mark.parametrize(
    ("user", "action", "schema", "level", "flow"),
    [
        (ADMIN, PODS, "exempt", "exempt", ""),
        (ANONYMOUS, Action("get", path="/healthz/ping"), "probes", "exempt", ""),
        (ANONYMOUS, Action("get", path="/healthzy"), "global-default", "global-default", "system:anonymous"),
        (ANN, Action("post", path="/livez"), "global-default", "global-default", "ann"),
        (MANAGER, LEASE, "system-leader-election", "leader-election", MANAGER.name),
        (SYSTEM_BOT, LEASE, "system-leader-election", "leader-election", SYSTEM_BOT.name),
        (BOT, LEASE, "service-accounts", "workload-low", BOT.name),
        (NODE, NODE_STATUS, "system-node-high", "node-high", NODE.name),
        (NODE, LEASE, "system-node-high", "node-high", NODE.name),
        (NODE, PODS, "system-nodes", "system", NODE.name),
        (MANAGER, PODS, "kube-controller-manager", "workload-high", "ns"),
        (SYSTEM_BOT, PODS, "kube-system-service-accounts", "workload-high", "ns"),
        (BOT, PODS, "service-accounts", "workload-low", BOT.name),
        (ANN, PODS, "global-default", "global-default", "ann"),
        (User("nobody"), PODS, "catch-all", "catch-all", "nobody"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_defaults_classify(user: User, action: Action, schema: str, level: str, flow: str) -> None:
    found = configuration().classify(user, action)
    assert (found.name, found.level, found.distinguish(user, action)) == (schema, level, flow)


def test_a_schema_of_a_missing_level_is_passed_over_and_the_mandatory_ones_are_always_there() -> None:
    lost = schema_object("global-default")
    lost["spec"]["priorityLevelConfiguration"] = {"name": "gone"}
    made = Configuration([], [lost])
    assert [each.name for each in made.schemas] == ["exempt", "catch-all"]
    assert made.classify(ANN, PODS).name == "catch-all"


def test_the_lowest_precedence_then_the_name_decides() -> None:
    schemas = []
    for name, precedence in (("b", 50), ("a", 50), ("c", 60)):
        schema = schema_object("global-default")
        schema["metadata"]["name"] = name
        schema["spec"]["matchingPrecedence"] = precedence
        schemas.append(schema)
    assert Configuration(map(level_object, LEVELS), schemas).classify(ANN, PODS).name == "a"


@pytest.mark.parametrize(
    ("verb", "name", "query", "width"),
    [
        ("list", "", {}, 10),
        ("list", "", {"limit": ["500"]}, 5),
        ("list", "", {"limit": ["500"], "labelSelector": ["a=b"]}, 10),
        ("list", "", {"limit": ["many"]}, 10),
        ("list", "one", {}, 1),
        ("watch", "", {"resourceVersion": ["5"]}, 1),
        ("watch", "", {"resourceVersion": ["0"]}, 10),
        ("watch", "", {"resourceVersion": ["5"], "sendInitialEvents": ["true"]}, 10),
        ("watch", "", {}, 10),
    ],
)
def test_lists_take_a_seat_per_hundred_objects(
    verb: str, name: str, query: dict[str, list[str]], width: int
) -> None:
    action = Action(verb, "", "v1", "pods", name=name)
    assert width_of(action, query, lambda group, plural: 5000, 10) == width
    assert width_of(action, query, lambda group, plural: 0, 10) == 1


@pytest.mark.parametrize(
    ("group", "plural", "count"),
    [(GROUP, "flowschemas", len(SCHEMAS)), ("", "pods", 0), ("example.com", "widgets", 0)],
)
def test_stored_objects_are_counted(group: str, plural: str, count: int) -> None:
    @served()
    async def body(server: Server) -> None:
        counter = stored_count(server.store, server.api.catalog)
        assert [counter(group, plural) for _ in range(2)] == [count, count]

    body()


# The defaults


@pytest.mark.parametrize(
    ("kind", "obj"),
    [("PriorityLevelConfiguration", level_object(name)) for name in LEVELS]
    + [("FlowSchema", schema_object(name)) for name in SCHEMAS],
    ids=lambda value: value if isinstance(value, str) else value["metadata"]["name"],
)
def test_default_objects_are_valid_and_in_normal_form(kind: str, obj: dict[str, Any]) -> None:
    decoded = decode((GROUP, "v1", kind), obj).obj
    apply_defaults(GROUP, "v1", kind, decoded)
    assert {key: decoded[key] for key in obj} == obj
    assert not validate_create(GROUP, kind, False, decoded)


class Server:
    """A store with the API around it, and a limiter that follows it."""

    def __init__(self, seats: int = 600, **options: Any) -> None:
        self.store = MemoryStore(stamp=stamp)
        catalog = Catalog(all_resources())
        self.api = Api(
            self.store,
            catalog,
            build_chain(StoreReader(self.store, catalog), ()),
            ServiceAllocator("10.96.0.0/16"),
            WatchHubs(self.store),
            Access.open(self.store, catalog, SigningKey.make(), None, StaticTokens({})),
            Scope(),
            now=lambda: 1_000_000.0,
        )
        self.fairness = Fairness(seats, **options)
        self.fairness.follow(self.store)

    def read(self, plural: str, name: str) -> dict[str, Any]:
        resource = self.api.catalog.find(GROUP, "v1", plural)
        record = self.store.get(f"/{GROUP}/{plural}/{name}")
        assert resource is not None
        assert record is not None
        return resource.read(record.value)

    async def write(self, plural: str, obj: dict[str, Any]) -> None:
        await self.store.put(f"/{GROUP}/{plural}/{obj['metadata']['name']}", encode(obj))

    async def admit(self, user: User, action: Action = PODS) -> Ticket:
        answer = self.fairness.admit(RequestDigest(user, action))
        return answer if isinstance(answer, Ticket) else await answer


def served(
    seats: int = 600, **options: Any
) -> Callable[[Callable[[Server], Awaitable[None]]], Callable[[], None]]:
    """Make a test of an async function that takes a server with the default objects."""

    def wrap(test: Callable[[Server], Awaitable[None]]) -> Callable[[], None]:
        def run() -> None:
            async def body() -> None:
                async with asyncio.timeout(PATIENCE_S):
                    server = Server(seats, **options)
                    await install_flow_control(server.api)
                    await test(server)
                    server.fairness.close()

            asyncio.run(body())

        run.__name__ = test.__name__
        return run

    return wrap


@served()
async def test_the_defaults_are_made_once(server: Server) -> None:
    revision = server.store.revision
    assert server.store.count(f"/{GROUP}/") == len(LEVELS) + len(SCHEMAS)
    await install_flow_control(server.api)
    assert server.store.revision == revision
    (condition,) = server.read("flowschemas", "service-accounts")["status"]["conditions"]
    assert condition == {
        "type": "Dangling",
        "status": "False",
        "lastTransitionTime": "1970-01-12T13:46:40Z",
        "reason": "Found",
        "message": 'This FlowSchema references the PriorityLevelConfiguration object named "workload-low" '
        "and it exists",
    }


@served()
async def test_an_own_schema_learns_that_its_level_is_missing(server: Server) -> None:
    own = schema_object("global-default")
    own["metadata"] = {"name": "own"}
    own["spec"]["priorityLevelConfiguration"]["name"] = "gone"
    await server.write("flowschemas", own)
    await install_flow_control(server.api)
    (condition,) = server.read("flowschemas", "own")["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "NotFound")
    assert condition["message"].endswith('named "gone" but there is no such object')


@pytest.mark.parametrize(
    ("name", "annotation", "generation", "kept", "annotated"),
    [
        ("workload-low", "true", 5, False, "true"),
        ("workload-low", "false", 1, True, "false"),
        ("workload-low", None, 1, False, "true"),
        ("workload-low", None, 2, True, "false"),
        ("workload-low", "maybe", 2, True, "false"),
        ("catch-all", "false", 2, False, "true"),
    ],
)
def test_changed_defaults_are_put_right_unless_told_otherwise(
    name: str, annotation: str | None, generation: int, kept: bool, annotated: str
) -> None:
    @served()
    async def body(server: Server) -> None:
        changed = server.read("prioritylevelconfigurations", name)
        changed["spec"]["limited"]["nominalConcurrencyShares"] = 77
        changed["metadata"]["generation"] = generation
        changed["metadata"]["annotations"] = (
            {} if annotation is None else {"apf.kubernetes.io/autoupdate-spec": annotation}
        )
        await server.write("prioritylevelconfigurations", changed)
        await install_flow_control(server.api)
        found = server.read("prioritylevelconfigurations", name)
        assert (found["spec"]["limited"]["nominalConcurrencyShares"] == 77) is kept
        assert found["metadata"]["annotations"]["apf.kubernetes.io/autoupdate-spec"] == annotated
        assert found["metadata"]["generation"] == generation + (not kept)

    body()


@served()
async def test_the_share_of_the_exempt_level_may_be_tuned(server: Server) -> None:
    tuned = server.read("prioritylevelconfigurations", "exempt")
    tuned["spec"]["exempt"]["nominalConcurrencyShares"] = 50
    await server.write("prioritylevelconfigurations", tuned)
    await install_flow_control(server.api)
    assert server.read("prioritylevelconfigurations", "exempt")["spec"] == tuned["spec"]


@served()
async def test_a_deleted_default_comes_back(server: Server) -> None:
    key = f"/{GROUP}/prioritylevelconfigurations/catch-all"
    back = asyncio.Event()
    async with Scope() as scope:
        scope.start(keep_flow_control(server.api))
        await server.store.delete(key)
        server.store.watch(key, server.store.revision, lambda events: back.set())
        await back.wait()
        scope.cancel()
    assert server.read("prioritylevelconfigurations", "catch-all")["spec"]["type"] == "Limited"


# Waiting and refusing


@served()
async def test_a_ticket_names_its_classification(server: Server) -> None:
    ticket = await server.admit(BOT)
    assert dict(ticket.headers) == {
        b"X-Kubernetes-PF-FlowSchema-UID": server.read("flowschemas", "service-accounts")["metadata"][
            "uid"
        ].encode(),
        b"X-Kubernetes-PF-PriorityLevel-UID": server.read("prioritylevelconfigurations", "workload-low")[
            "metadata"
        ]["uid"].encode(),
    }


def test_one_that_asks_without_pause_in_company_waits_only_when_it_asks_too_much_at_once() -> None:
    clock = [1000.0]

    @served(now=lambda: clock[0])
    async def body(server: Server) -> None:
        (await server.admit(ANN)).done()

        def at_once() -> bool:
            answer = server.fairness.admit(RequestDigest(BOT, PODS))
            if not isinstance(answer, Ticket):
                return False
            clock[0] += 0.0003
            answer.done()
            return True

        for _ in range(200):
            assert at_once()
            # The loop passes on, and with it comes the time for more.
            await asyncio.sleep(0)
        assert [at_once() for _ in range(12)].count(True) in range(5, 8)

    body()


async def fill(server: Server, user: User) -> tuple[list[Ticket], list[asyncio.Task[Ticket]]]:
    """Take all seats a user can get, and fill the queues of its hand."""
    held: list[Ticket] = []
    waiting: list[asyncio.Task[Ticket]] = []
    create = Action("create", "", "v1", "pods", "", "ns")
    for _ in range(10_000):
        try:
            answer = server.fairness.admit(RequestDigest(user, create))
        except StatusError:
            return held, waiting
        if isinstance(answer, Ticket):
            held.append(answer)
        else:
            waiting.append(asyncio.ensure_future(answer))
    raise AssertionError("never refused")


@served(seats=60)
async def test_overload_is_429_with_retry_after_and_other_levels_go_on(server: Server) -> None:
    held, waiting = await fill(server, BOT)
    with pytest.raises(StatusError) as refused:
        server.fairness.admit(RequestDigest(BOT, PODS))
    error = refused.value
    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.message == "Too many requests, please try again later."
    assert (b"Retry-After", b"1") in error.headers
    assert {name for name, _ in error.headers} >= {b"X-Kubernetes-PF-FlowSchema-UID"}
    assert len(waiting) == 6 * 50
    for user in (ADMIN, NODE, ANN, SYSTEM_BOT):
        assert isinstance(server.fairness.admit(RequestDigest(user, PODS)), Ticket)
    # Another account of the same level waits, but not behind them all.
    other = asyncio.ensure_future(server.admit(account("ns", "other")))
    await asyncio.sleep(0)
    for ticket in held:
        ticket.done()
    assert (await other).held
    assert sum(task.done() for task in waiting) < len(waiting)
    for task in waiting:
        (await task).done()
    assert (
        server.fairness.metrics()["apiserver_flowcontrol_current_executing_requests"][
            (("priority_level", "workload-low"), ("flow_schema", "service-accounts"))
        ]
        == 1
    )


@served(seats=20, wait_s=0.0)
async def test_waiting_ends_with_429(server: Server) -> None:
    _, waiting = await fill(server, BOT)
    with pytest.raises(StatusError, match="Too many requests"):
        await waiting[0]
    await asyncio.gather(*waiting, return_exceptions=True)
    labels = (("priority_level", "workload-low"), ("flow_schema", "service-accounts"), ("reason", "time-out"))
    rejected = server.fairness.metrics()["apiserver_flowcontrol_rejected_requests_total"]
    assert rejected[labels] == len(waiting)


@served(seats=20)
async def test_a_client_that_goes_away_leaves_its_place_and_its_seat(server: Server) -> None:
    held, waiting = await fill(server, BOT)
    await asyncio.sleep(0)
    for task in waiting[:-1]:
        task.cancel()
    await asyncio.gather(*waiting[:-1], return_exceptions=True)
    held.pop().done()
    last = await waiting[-1]
    last.done()
    while held:
        held.pop().done()
    executing = server.fairness.metrics()["apiserver_flowcontrol_current_executing_requests"]
    assert set(executing.values()) == {0}


@served(seats=20)
async def test_a_started_request_whose_task_is_cancelled_gives_its_seat_back(server: Server) -> None:
    held, waiting = await fill(server, BOT)
    await asyncio.sleep(0)
    held[0].done()
    await asyncio.sleep(0)  # the turn
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    waiting.clear()
    for ticket in held:
        ticket.done()
    ticket = None
    held.clear()
    executing = server.fairness.metrics()["apiserver_flowcontrol_current_executing_requests"]
    assert set(executing.values()) == {0}


@served(seats=20)
async def test_a_place_that_nobody_ever_waited_for_is_left(server: Server) -> None:
    held, waiting = await fill(server, BOT)
    while waiting:
        waiting.pop().cancel()  # before the task's first step
    await asyncio.sleep(0)
    gc.collect()
    assert sum(server.fairness.metrics()["apiserver_flowcontrol_current_inqueue_requests"].values()) == 0
    assert held


@served(seats=20)
async def test_a_forgotten_ticket_gives_its_seat_back(server: Server) -> None:
    ticket: Ticket | None = await server.admit(BOT)
    executing = server.fairness.metrics()["apiserver_flowcontrol_current_executing_requests"]
    assert sum(executing.values()) == 1
    del ticket
    executing = server.fairness.metrics()["apiserver_flowcontrol_current_executing_requests"]
    assert sum(executing.values()) == 0


@served(seats=20)
async def test_connections_into_pods_are_not_limited(server: Server) -> None:
    await fill(server, BOT)
    ticket = server.fairness.admit(RequestDigest(BOT, Action("create", "", "v1", "pods", "exec", "ns", "p")))
    assert isinstance(ticket, Ticket)
    assert not ticket.headers


@served(seats=20)
async def test_a_changed_schema_counts_at_once(server: Server) -> None:
    assert (await server.admit(BOT)).flow.level.name == "workload-low"
    schema = server.read("flowschemas", "service-accounts")
    schema["spec"]["priorityLevelConfiguration"]["name"] = "global-default"
    await server.write("flowschemas", schema)
    assert (await server.admit(BOT)).flow.level.name == "global-default"


def test_a_flood_of_reads_does_not_hold_up_a_light_client() -> None:
    """Both are service accounts; time is the test's own, so a read takes exactly as long as it says."""
    clock = [100.0]

    @served(now=lambda: clock[0])
    async def body(server: Server) -> None:
        order: list[str] = []

        async def read(user: User) -> None:
            ticket = await server.admit(user)
            clock[0] += 0.001
            order.append(user.name)
            ticket.done()

        light = account("ns", "light")
        await read(light)
        for _ in range(50):
            await read(BOT)
        flood = [asyncio.ensure_future(read(BOT)) for _ in range(200)]
        await asyncio.sleep(0)
        order.clear()
        await read(light)
        assert order.index(light.name) <= 20
        await asyncio.gather(*flood)
        assert order.count(BOT.name) >= 180

    body()
