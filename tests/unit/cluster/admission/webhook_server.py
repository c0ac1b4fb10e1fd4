"""A webhook that is a real HTTPS server in the test's own process, and the plugins that call it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from steersman.cluster.admission import AdmissionChain, Attributes
from steersman.cluster.admission.services import ServiceUnreachable
from steersman.cluster.admission.webhooks import (
    AdmissionContext,
    AdmissionWebhookMetrics,
    CatalogTypes,
    MutatingAdmissionWebhook,
    ValidatingAdmissionWebhook,
    WebhookClients,
)
from steersman.cluster.admission.webhooks.expressions import AdmissionExpressions
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.auth.authorization import Masters
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.schema.resources import all_resources
from steersman.http import Request, Response, Server, server_tls

from .conftest import Stored

Object = dict[str, Any]
#: What a webhook does: the review's request → the response, or a whole HTTP answer.
Behaviour = Callable[[Object], Object | Response | Awaitable[Object | Response]]

CONCURRENT_CALLS = 4
GROUP = "admissionregistration.k8s.io"
AUTHORITY = StoredAuthority.make("webhooks")
_PAIR = AUTHORITY.issue("hook", names=["localhost", "127.0.0.1", "hook.system.svc"], server=True)
TYPES = CatalogTypes(Catalog(all_resources()))


@dataclass
class Hooks:
    """One server, a behaviour for each path, and the plugins configured to call it."""

    port: int
    stored: Stored
    metrics: AdmissionWebhookMetrics
    clients: WebhookClients
    mutating: MutatingAdmissionWebhook
    validating: ValidatingAdmissionWebhook
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    #: (path, request) of every review, in the order they came.
    seen: list[tuple[str, Object]] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def add(self, name: str, behaviour: Behaviour, *, mutating: bool = False, **webhook: Any) -> None:
        """A configuration with one webhook, asked about everything unless told otherwise."""
        self.behaviours[f"/{name}"] = behaviour
        hook: Object = {
            "name": f"{name}.example.com",
            "clientConfig": {"url": f"https://localhost:{self.port}/{name}", "caBundle": ca_bundle()},
            "rules": [rule()],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "timeoutSeconds": 10,
            **webhook,
        }
        plural = "mutatingwebhookconfigurations" if mutating else "validatingwebhookconfigurations"
        self.stored.add(GROUP, plural, name, webhooks=[hook])
        self.mutating.webhooks.invalidate()
        self.validating.webhooks.invalidate()

    async def write(self, attributes: Attributes) -> Attributes:
        chain = AdmissionChain([self.mutating, self.validating])
        await chain.admit(attributes)
        await chain.validate(attributes)
        return attributes

    async def handle(self, request: Request) -> Response:
        review = orjson.loads(request.content)
        self.seen.append((request.path, review["request"]))
        self.targets.append(request.target)
        self.headers.append(dict(request.headers))
        answer = self.behaviours[request.path](review["request"])
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, Response):
            return answer
        document = {"uid": review["request"]["uid"], "allowed": True, **answer}
        return Response(200, orjson.dumps({**review, "request": None, "response": document}))


def rule(**changes: Any) -> Object:
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*", "*"]}
    return {**everything, "scope": "*", **changes}


def ca_bundle(authority: StoredAuthority = AUTHORITY) -> str:
    return base64.b64encode(authority.pem).decode()


def patch(*operations: Object) -> Object:
    """A response that changes the object."""
    return {"patch": base64.b64encode(orjson.dumps(operations)).decode(), "patchType": "JSONPatch"}


class LocalServices:
    """Every service is the one server, but for those that do not exist."""

    def __init__(self) -> None:
        self.port = 0

    def resolve(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        if (namespace, name) != ("system", "hook"):
            raise ServiceUnreachable(f'service "{name}" not found')
        return "127.0.0.1", self.port


@asynccontextmanager
async def hooks() -> AsyncIterator[Hooks]:
    stored = Stored()
    stored.add("", "namespaces", "default", metadata={"labels": {"team": "blue"}})
    services = LocalServices()
    clients = WebhookClients(services, concurrent_calls=CONCURRENT_CALLS)
    context = AdmissionContext(stored, TYPES, AdmissionExpressions(), Masters())
    metrics = AdmissionWebhookMetrics()
    plugins = [
        plugin(context, clients, metrics) for plugin in (MutatingAdmissionWebhook, ValidatingAdmissionWebhook)
    ]
    made: list[Hooks] = []
    server = Server(lambda request: made[0].handle(request))
    await server.start("127.0.0.1", 0, server_tls(_PAIR.certificate, _PAIR.key))
    services.port = server.port
    made.append(Hooks(server.port, stored, metrics, clients, *plugins))  # type: ignore[arg-type]
    try:
        yield made[0]
    finally:
        await clients.close()
        await server.close()


def with_hooks(test: Callable[[Hooks], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def body() -> None:
            async with asyncio.timeout(30), hooks() as server:
                await test(server)

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run
