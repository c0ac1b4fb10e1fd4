"""An API without sockets: store, catalog and access, for the tests of who may do what."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, cast

import orjson

from steersman.aio import Scope
from steersman.cluster.admission import AdmissionChain
from steersman.cluster.apiserver.pipeline.access import Access, action_of
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import parse_query
from steersman.cluster.apiserver.pipeline.paths import parse_path
from steersman.cluster.apiserver.reading.watch import WatchHubs
from steersman.cluster.apiserver.resources.allocation import ServiceAllocator
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.apiserver.resources.storage_encoding import encode, stamp
from steersman.cluster.apiserver.responses.render import JSON
from steersman.cluster.auth.authentication import StaticTokens
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.jwt import SigningKey
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from steersman.cluster.schema.resources import all_resources
from steersman.cluster.store.memory import MemoryStore
from steersman.http import Connection, Headers, Request, Response
from steersman.objects.status import StatusError

Object = dict[str, Any]

RBAC_GROUP = "rbac.authorization.k8s.io"
ADMIN = User("admin", "admin-uid", (MASTERS_GROUP, AUTHENTICATED_GROUP))
ANN = User("ann", groups=("dev", AUTHENTICATED_GROUP))
KEY = SigningKey.make()
_CATALOG = Catalog(all_resources())


class World:
    def __init__(self, scope: Scope) -> None:
        self.store = MemoryStore(stamp=stamp)
        services = ServiceAllocator("10.96.0.0/16")
        static = StaticTokens({"admin-token": ADMIN, "ann-token": ANN})
        self.access = Access.open(self.store, _CATALOG, KEY, None, static)
        hubs = WatchHubs(self.store)
        self.api = Api(self.store, _CATALOG, AdmissionChain([]), services, hubs, self.access, scope)

    async def put(self, plural: str, name: str, obj: Object, namespace: str = "", group: str = "") -> Object:
        """Store an object as it is."""
        resource = _CATALOG.find(group, "v1", plural)
        assert resource is not None
        metadata = {"name": name, "uid": f"{name}-uid", **({"namespace": namespace} if namespace else {})}
        given = {
            "metadata": metadata | obj.get("metadata", {}) | {"name": name},
            **{k: v for k, v in obj.items() if k != "metadata"},
        }
        record = await self.store.put(resource.key(namespace, name), encode(given))
        return resource.read(record.value)

    def read(self, plural: str, name: str, namespace: str = "", group: str = "") -> Object:
        resource = _CATALOG.find(group, "v1", plural)
        assert resource is not None
        record = self.store.get(resource.key(namespace, name))
        assert record is not None
        return resource.read(record.value)

    async def grant(self, user: str, *rules: Object, namespace: str = "", name: str = "") -> None:
        """Give a user rights, cluster-wide or in a namespace."""
        role = name or f"of-{user.replace(':', '-')}"
        plural, kind = ("roles", "Role") if namespace else ("clusterroles", "ClusterRole")
        await self.put(plural, role, {"rules": list(rules)}, namespace, RBAC_GROUP)
        bindings = plural.replace("roles", "rolebindings")
        subjects = [{"kind": "User", "apiGroup": RBAC_GROUP, "name": user}]
        ref = {"kind": kind, "name": role, "apiGroup": RBAC_GROUP}
        await self.put(bindings, role, {"roleRef": ref, "subjects": subjects}, namespace, RBAC_GROUP)

    def call(self, path: str, body: Object, user: User = ADMIN) -> Call:
        where, _, query = path.partition("?")
        parsed = parse_path(where)
        assert parsed is not None
        headers = Headers([(b"content-type", b"application/json"), (b"user-agent", b"test/1")])
        request = Request("POST", path, headers, cast(Connection, None), cast(Any, None), True, True)
        request.content = orjson.dumps(body)
        resource = _CATALOG.find(parsed.group, parsed.version, parsed.plural)
        assert resource is not None
        parameters = parse_query(query)
        action = action_of(parsed, "create", parameters)
        return Call(request, resource, parsed, parameters, user, JSON, action)


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> Object:
    made: Object = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return made | ({"resourceNames": names.split()} if names else {})


def action(verb: str, path: str, query: str = "") -> Action:
    parsed = parse_path(path)
    assert parsed is not None
    return action_of(parsed, verb, parse_query(query))


def content(answer: Response) -> Object:
    body = answer.body
    return cast(Object, orjson.loads(body if isinstance(body, bytes) else b"".join(body)))


def in_world(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test of an async function whose first argument is a world."""

    def run(**arguments: Any) -> None:
        async def body() -> None:
            async with Scope(on_error=_raise) as scope:
                world = World(scope)
                try:
                    await test(world, **arguments)
                finally:
                    world.access.close()
                    await scope.close()
                    await world.store.close()

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    names = [name for name in test.__annotations__ if name not in ("world", "return")]
    run.__signature__ = _signature(names)  # type: ignore[attr-defined]
    return run


def _signature(names: list[str]) -> Any:
    """What pytest is to pass: everything but the world."""
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    return inspect.Signature(parameters)


def _raise(error: BaseException) -> None:
    raise error


def refused(code: int, error: StatusError) -> str:
    assert error.code == code, error
    return error.message
