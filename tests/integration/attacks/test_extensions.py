"""Attacks by those who may extend the API: patterns and rules that explode, webhooks that misbehave."""

from __future__ import annotations

import base64
import itertools
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.auth.pki import StoredAuthority
from tests.support.manifests import config_map
from tests.support.steer import DEADLINE_S, Answer, Api

from .conftest import bounded

pytestmark = pytest.mark.slow

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_numbers = itertools.count(1)


def define(api: Api, **field: Any) -> tuple[Answer, str]:
    """A definition with one field, `value`; its answer and the path of its objects."""
    group = f"attack-{next(_numbers)}.example.com"
    schema = {"type": "object", "properties": {"value": {"type": "string", **field}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"plural": "bombs", "kind": "Bomb"}
    body = {
        "metadata": {"name": f"bombs.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": versions},
    }
    answer = api.post(DEFINITIONS, body)
    return answer, f"/apis/{group}/v1/bombs"


def established(api: Api, path: str) -> None:
    group = path.split("/")[2]
    deadline = time.monotonic() + DEADLINE_S
    watch = f"{DEFINITIONS}?fieldSelector=metadata.name%3Dbombs.{group}&watch=true&timeoutSeconds=1"
    while time.monotonic() < deadline:
        if api.get(path).status == 200:
            return
        api.get(watch)
    raise AssertionError(f"{group} is not served")


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "^(.*a){25}$", r"^(\w+\s?)*$", "(x+x+)+y"])
def test_patterns_that_backtrack(api: Api, pattern: str) -> None:
    with bounded():
        answer, path = define(api, pattern=pattern)
        if answer.status == 201:
            established(api, path)
            group = path.split("/")[2]
            for text in ("a" * 50_000 + "!", "x" * 50_000, "a " * 5_000 + "!"):
                bomb = {"apiVersion": f"{group}/v1", "kind": "Bomb", "metadata": {"name": "x"}, "value": text}
                assert api.post(f"{path}?dryRun=All", bomb).status in (201, 422)
        else:
            assert answer.status == 422, answer.text


@pytest.mark.parametrize(
    "pattern", ["a{1000}{1000}", "((a{100}){100}){100}", "(" * 5_000 + ")" * 5_000, "[", r"(?=a)\1"]
)
def test_patterns_that_are_too_much_or_none(api: Api, pattern: str) -> None:
    with bounded():
        assert define(api, pattern=pattern)[0].status < 500


RULES = {
    "nested loops": "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, self.matches('^(a+)+$')))"
    + " && self.split('').all(a, self.split('').all(b, self.split('').all(c, a == b || b == c || a == c)))",
    "a text that doubles": "self.replace('', self).replace('', self).replace('', self) == ''",
    "deep brackets": "(" * 3_000 + "true" + ")" * 3_000,
    "a long chain": " && ".join(["true"] * 20_000),
    "many negations": "!" * 20_000 + "true",
    "a large list": "[" + ",".join(["1"] * 50_000) + "].size() > 0",
    "a deep list": "[" * 3_000 + "]" * 3_000 + " == []",
    "a regular expression": "self.matches('((a{100}){100}){100}')",
    "a rule over the limit": "true || '" + "x" * 2_000_000 + "' == ''",
}  # fmt: skip


@pytest.mark.parametrize("name", list(RULES))
def test_rules_that_explode(api: Api, name: str) -> None:
    with bounded():
        answer, path = define(api, **{"x-kubernetes-validations": [{"rule": RULES[name]}]})
        assert answer.status in (201, 422), answer.text[:500]
        if answer.status == 201:
            established(api, path)
            bomb = {"apiVersion": path[6:].rpartition("/")[0], "kind": "Bomb", "metadata": {"name": "x"}}
            assert api.post(path, {**bomb, "value": "a" * 20_000}).status in (201, 422)


def test_a_rule_that_costs_too_much_when_it_runs(api: Api) -> None:
    """The definition says how long the text may be, and the objects keep to it: the budget still holds."""
    rule = "self.split('').all(a, self.split('').all(b, self.split('').exists(c, c == 'b')))"
    with bounded():
        answer, _ = define(api, maxLength=60_000, **{"x-kubernetes-validations": [{"rule": rule}]})
    assert answer.status == 422
    assert "estimated rule cost exceeds budget" in answer.json["message"]


def test_a_schema_without_end(api: Api) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        deep = {"type": "object", "properties": {"a": deep}}
    with bounded():
        assert define(api, **deep)[0].status in (201, 400, 422)


Behaviour = Callable[[Any], bytes]


class Hooks(ThreadingHTTPServer):
    """A webhook server that behaves as its behaviour says."""

    daemon_threads = True
    behaviour: Behaviour
    calls = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers that leave in the middle are what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Hooks

    def do_POST(self) -> None:
        self.server.calls += 1
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = self.server.behaviour(review)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def hook(api: Api, namespace: str, tmp_path: Path) -> Iterator[Hooks]:
    """A webhook asked about every config map of the namespace."""
    authority = StoredAuthority.make("hooks-authority")
    pair = authority.issue("hook", names=["localhost"], server=True)
    (tmp_path / "pem").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    server = Hooks(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    everything = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}
    bundle = base64.b64encode(authority.pem).decode()
    webhook = {
        "name": "bad.example.com",
        "clientConfig": {"url": f"https://localhost:{server.server_address[1]}/", "caBundle": bundle},
        "rules": [everything],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    assert api.post(path, {"metadata": {"name": namespace}, "webhooks": [webhook]}).status == 201
    yield server
    assert api.request("DELETE", f"{path}/{namespace}").status == 200
    server.shutdown()
    server.server_close()
    thread.join()


def answer_with(**response: Any) -> Behaviour:
    def behave(review: Any) -> bytes:
        whole = {"uid": review["request"]["uid"], "allowed": True, **response}
        return json.dumps(
            {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": whole}
        ).encode()

    return behave


def patching(*operations: dict[str, Any]) -> Behaviour:
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return answer_with(patchType="JSONPatch", patch=encoded)


BAD_ANSWERS: dict[str, Behaviour] = {
    "no JSON": lambda review: b"<html>",
    "deep JSON": lambda review: b"[" * 200_000,
    "another request's": answer_with(uid="other"),
    "a patch of another kind": answer_with(patchType="Strategic", patch="e30="),
    "a patch that is none": answer_with(patchType="JSONPatch", patch="%%%"),
    "a patch that does not fit": patching({"op": "remove", "path": "/none"}),
    "a patch that moves": patching({"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}),
    "a patch that makes it another kind": patching({"op": "replace", "path": "/kind", "value": "Secret"}),
    "a patch that makes it invalid": patching({"op": "add", "path": "/data", "value": {"": "x"}}),
    "a patch that makes it huge": patching({"op": "add", "path": "/data", "value": {"k": "x" * (2 << 20)}}),
    "a patch that doubles": patching(
        {"op": "add", "path": "/data", "value": {"a": "x" * 1000}},
        *({"op": "copy", "from": "/data", "path": f"/data/c{number}"} for number in range(40)),
    ),
    "30 MB": lambda review: b" " * (30 << 20),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD_ANSWERS))
def test_a_bad_answer_of_a_webhook_is_the_writes_failure(
    api: Api, namespace: str, hook: Hooks, name: str
) -> None:
    hook.behaviour = BAD_ANSWERS[name]
    with bounded():
        answer = api.post(f"/api/v1/namespaces/{namespace}/configmaps", config_map("x"))
    assert answer.status >= 400, answer.text[:500]
    assert answer.json["kind"] == "Status"
    assert api.get(f"/api/v1/namespaces/{namespace}/configmaps/x").status == 404


def test_a_webhook_that_hangs_is_left(api: Api, namespace: str, hook: Hooks) -> None:
    ended = threading.Event()

    def hang(review: Any) -> bytes:
        ended.wait(DEADLINE_S)
        return b""

    hook.behaviour = hang
    try:
        with bounded(5.0):
            answer = api.post(f"/api/v1/namespaces/{namespace}/configmaps", config_map("x"))
        assert answer.status == 500
        assert "context deadline exceeded" in answer.json["message"]
        with bounded(1.0):
            assert api.get(f"/api/v1/namespaces/{namespace}/configmaps/x").status == 404
    finally:
        ended.set()


def test_a_webhook_that_writes_what_it_is_asked_about(api: Api, namespace: str, hook: Hooks) -> None:
    """Each review makes another write, which is reviewed: the innermost gives up, and all of them end."""
    maps = f"/api/v1/namespaces/{namespace}/configmaps"

    def behave(review: Any) -> bytes:
        if hook.calls < 50:
            api.post(maps, config_map(f"x-{hook.calls}"))
        return answer_with()(review)

    hook.behaviour = behave
    with bounded():
        api.post(maps, config_map("x"))
    assert hook.calls <= 100
