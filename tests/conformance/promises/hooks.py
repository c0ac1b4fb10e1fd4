"""The webhooks of the public tests' test image, as a real HTTPS server in this process.

A service of the cluster leads to it, as it does in the public tests.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from steersman.cluster.auth.pki import StoredAuthority
from steersman.http import Request, Response, Server, server_tls
from tests.conformance.promises.keeping import NAMESPACE, Collection, Object
from tests.support.api import ApiClient
from tests.support.waiting import pass_time

__all__ = ["SERVICE", "Backend", "Handler", "ca_bundle", "service_for", "serving"]

Handler = Callable[[Request], Response | Awaitable[Response]]

SERVICE: Final = "e2e-test-webhook"
_AUTHORITY: Final = StoredAuthority.make("e2e-server-cert-ca")


def ca_bundle() -> str:
    return base64.b64encode(_AUTHORITY.pem).decode()


async def service_for(client: ApiClient, name: str = SERVICE) -> None:
    """A service that leads to this machine. Endpoints could not: they may not be loopback addresses."""
    services = Collection(client, "v1", "services", NAMESPACE)
    spec = {"type": "ExternalName", "externalName": "localhost"}
    await services.create({"metadata": {"name": name}, "spec": spec})


@asynccontextmanager
async def serving(handler: Handler, name: str = SERVICE, trusted: bytes | None = None) -> AsyncIterator[int]:
    """The port of an HTTPS server whose certificate is for a service of the test's namespace."""
    pair = _AUTHORITY.issue(name, names=[f"{name}.{NAMESPACE}.svc"], server=True)
    server = Server(handler)
    await server.start("127.0.0.1", 0, server_tls(pair.certificate, pair.key, trusted))
    try:
        yield server.port
    finally:
        await server.close()


def _denied(message: str = "", reason: str = "") -> Object:
    said = ({"message": message} if message else {}) | ({"reason": reason} if reason else {})
    return {"allowed": False, "status": said}


def _patch(path: str, value: Any) -> Object:
    operations = orjson.dumps([{"op": "add", "path": path, "value": value}])
    return {"patchType": "JSONPatch", "patch": base64.b64encode(operations).decode()}


def _data(request: Object) -> Mapping[str, str]:
    obj = request["oldObject"] if request["operation"] == "DELETE" else request["object"]
    found: Mapping[str, str] = obj.get("data") or {}
    return found


def _unwanted_data(request: Object, write: str, delete: str) -> Object:
    said = _data(request).get("webhook-e2e-test")
    if said == "webhook-disallow" and request["operation"] in ("CREATE", "UPDATE"):
        return _denied(reason=write)
    if said == "webhook-nondeletable" and request["operation"] == "DELETE":
        return _denied(reason=delete)
    return {}


def _config_maps(request: Object) -> Object:
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    unwanted = "contains unwanted key and value"
    return _unwanted_data(
        request, f"the configmap {unwanted}", f"the configmap cannot be deleted because it {unwanted}"
    )


def _custom_resource(request: Object) -> Object:
    return _unwanted_data(
        request,
        "the custom resource contains unwanted data",
        "the custom resource cannot be deleted because it contains unwanted key and value",
    )


def _mutating_data(request: Object) -> Object:
    """The second stage, or else the first."""
    data = _data(request)
    if data.get("mutation-stage-1") == "yes":
        return _patch("/data/mutation-stage-2", "yes")
    return _patch("/data/mutation-stage-1", "yes") if data.get("mutation-start") == "yes" else {}


async def _pods(request: Object) -> Object:
    pod = request["object"]
    said = (pod["metadata"].get("labels") or {}).get("webhook-e2e-test")
    if said == "wait-forever":
        await asyncio.Event().wait()
    problems = ["the pod contains unwanted label;"] if said == "webhook-disallow" else []
    if any("webhook-disallow" in container["name"] for container in pod["spec"]["containers"]):
        problems.append("the pod contains unwanted container name;")
    return _denied(" ".join(problems)) if problems else {}


def _mutating_pods(request: Object) -> Object:
    if request["object"]["metadata"].get("name") != "webhook-to-be-mutated":
        return {}
    added = {"image": "webhook-added-image", "name": "webhook-added-init-container", "resources": {}}
    return _patch("/spec/initContainers", [added])


def _attaching(request: Object) -> Object:
    assert (request["resource"]["resource"], request["subResource"]) == ("pods", "attach")
    options = request["object"]
    assert options["kind"] == "PodAttachOptions"
    if (request["name"], options.get("stdin"), options.get("container")) == (
        "to-be-attached-pod",
        True,
        "container1",
    ):
        return _denied("attaching to pod 'to-be-attached-pod' is not allowed")
    return {}


def _definitions(request: Object) -> Object:
    labels = request["object"]["metadata"].get("labels") or {}
    unwanted = labels.get("webhook-e2e-test") == "webhook-disallow"
    return _denied("the crd contains unwanted label") if unwanted else {}


def _add_label(request: Object) -> Object:
    if request["object"]["metadata"].get("labels"):
        return _patch("/metadata/labels/added-label", "yes")
    return _patch("/metadata/labels", {"added-label": "yes"})


@dataclass
class Backend:
    """The paths of the test image."""

    client: ApiClient
    port: int = 0
    #: How long the slow path takes.
    slowness_s: float = 5.0
    paths: dict[str, Callable[[Object], Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.paths = {
            "/always-deny": lambda _: _denied("this webhook denies all requests"),
            "/always-allow-delay-5s": self._slow,
            "/configmaps": _config_maps,
            "/mutating-configmaps": _mutating_data,
            "/pods": _pods,
            "/mutating-pods": _mutating_pods,
            "/pods/attach": _attaching,
            "/custom-resource": _custom_resource,
            "/mutating-custom-resource": _mutating_data,
            "/crd": _definitions,
            "/add-label": _add_label,
        }

    async def _slow(self, _: Object) -> Object:
        await pass_time(self.slowness_s, "a slow webhook")
        return {}

    async def handle(self, request: Request) -> Response:
        review = orjson.loads(request.content)
        asked = review["request"]
        answer = self.paths[request.path](asked)
        if isinstance(answer, Awaitable):
            answer = await answer
        response = {"uid": asked["uid"], "allowed": True, **answer}
        return Response(200, orjson.dumps({**review, "request": None, "response": response}))
