"""Requests in the audit log: what each level and stage shows, what is never shown, and the file."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cluster.apiserver.audit import AuditEvent, Auditor, LogUnusable, Rotation
from steersman.cluster.apiserver.audit.policy import Policy
from steersman.cluster.apiserver.audit.redaction import REDACTED, redact, redact_uri
from steersman.cluster.apiserver.audit.rotation import RotatingFile
from steersman.cluster.apiserver.audit.writing import Writer
from steersman.cluster.apiserver.responses.render import failure
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.http import Joined, Request, Response
from steersman.objects.status import not_found
from tests.support.api import PATIENCE_S, ApiClient, api
from tests.unit.cluster.apiserver.asking import ask

ANN = User("ann", "7", ("dev", "system:authenticated"), {"scopes": ("a", "b")})
PODS = "/api/v1/namespaces/ns/pods"
GET = Action("get", "", "v1", "pods", "", "ns", "p")
CREATE = Action("create", "", "v1", "pods", "", "ns", "")
JSON = ((b"Content-Type", b"application/json"),)
NOW = 1_700_000_000.25


class MemoryLog:
    """A log to read; writing can be held up, or fail."""

    def __init__(self) -> None:
        self.data = b""
        self.go = threading.Event()
        self.go.set()
        self.broken = False

    def write(self, data: bytes) -> None:
        self.go.wait()
        if self.broken:
            raise OSError(28, "No space left on device")
        self.data += data

    def close(self) -> None:
        pass


class Audit:
    """An auditor with one rule, and its lines once it is closed."""

    def __init__(self, level: str, **policy: Any) -> None:
        rule = {"level": level, **policy.pop("rule", {})}
        self.log = MemoryLog()
        self.writer = Writer(self.log, **policy.pop("writer", {}))
        self.auditor = Auditor(Policy({"rules": [rule], **policy}), self.writer, now=lambda: NOW)

    def begin(self, request: Request, action: Action, user: User | None = ANN) -> AuditEvent:
        event = self.auditor.begin(request, user, action)
        assert event is not None
        return event

    def lines(self) -> list[dict[str, Any]]:
        self.writer.close()
        return [orjson.loads(line) for line in self.log.data.splitlines()]


def sending(
    method: str, target: str, body: Any, content_type: str = "application/json", **headers: str
) -> Request:
    request = ask(target, method, content_type=content_type, **headers)
    request.content = body if isinstance(body, bytes) else orjson.dumps(body)
    return request


def test_a_get_at_metadata_level() -> None:
    audit = Audit("Metadata")
    event = audit.begin(ask(f"{PODS}/p?pretty=1", user_agent="kubectl/1", audit_id="id-1"), GET)
    event.authorized(True, 'RBAC: allowed by RoleBinding "x/ns"')
    event.complete(Response(200, b'{"kind":"Pod"}', JSON))
    first, second = audit.lines()
    common = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "id-1",
        "requestURI": f"{PODS}/p?pretty=1",
        "verb": "get",
        "user": {
            "username": "ann",
            "uid": "7",
            "groups": ["dev", "system:authenticated"],
            "extra": {"scopes": ["a", "b"]},
        },
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "kubectl/1",
        "objectRef": {"resource": "pods", "namespace": "ns", "name": "p", "apiVersion": "v1"},
        "requestReceivedTimestamp": "2023-11-14T22:13:20.250000Z",
        "stageTimestamp": "2023-11-14T22:13:20.250000Z",
    }
    assert first == common | {"stage": "RequestReceived"}
    assert second == common | {
        "stage": "ResponseComplete",
        "responseStatus": {"metadata": {}, "code": 200},
        "annotations": {
            "authorization.k8s.io/decision": "allow",
            "authorization.k8s.io/reason": 'RBAC: allowed by RoleBinding "x/ns"',
        },
    }
    assert list(second)[:5] == ["kind", "apiVersion", "level", "auditID", "stage"]
    assert event.header == (b"Audit-ID", b"id-1")


def test_what_the_policy_does_not_want_is_no_event() -> None:
    audit = Audit("None")
    assert audit.auditor.begin(ask(PODS), ANN, GET) is None
    assert audit.lines() == []
    assert audit.auditor.metrics()["apiserver_audit_level_total"][(("level", "None"),)] == 1


def test_a_rule_about_names_tells_objects_apart() -> None:
    audit = Audit("Metadata", rule={"resources": [{"resources": ["pods"], "resourceNames": ["p"]}]})
    assert audit.auditor.begin(ask(PODS), ANN, GET) is not None
    assert audit.auditor.begin(ask(PODS), ANN, GET._replace(name="q")) is None
    audit.lines()


BODY = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u", "resourceVersion": "5"}}


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("Metadata", set()),
        ("Request", {"requestObject"}),
        ("RequestResponse", {"requestObject", "responseObject"}),
    ],
)
def test_levels_show_bodies(level: str, shown: set[str]) -> None:
    audit = Audit(level, omitStages=["RequestReceived"])
    event = audit.begin(sending("POST", PODS, BODY), CREATE)
    event.complete(Response(201, orjson.dumps(BODY, option=orjson.OPT_INDENT_2), JSON))
    (line,) = audit.lines()
    assert {key for key in line if key.endswith("Object")} == shown
    assert all(line[key] == BODY for key in shown)
    # A new object is named by its body, whatever the level.
    assert line["objectRef"] == {
        "resource": "pods",
        "namespace": "ns",
        "name": "p",
        "uid": "u",
        "apiVersion": "v1",
        "resourceVersion": "5",
    }


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/yaml", b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\n"),
        ("application/apply-patch+yaml", b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\n"),
        (
            "application/vnd.kubernetes.protobuf",
            b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05\x0a\x03\x0a\x01c",
        ),
    ],
)
def test_bodies_of_other_formats_are_shown_as_json(content_type: str, body: bytes) -> None:
    audit = Audit("Request", omitStages=["RequestReceived"])
    action = Action("create", "", "v1", "configmaps", "", "ns")
    audit.begin(sending("POST", "/x", body, content_type), action).complete(code=201)
    (line,) = audit.lines()
    assert line["requestObject"] == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}}


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"k8s\x00junk", b"a: [", b"[" * 10_000])
@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/html", "junk"],
)
def test_bodies_that_mean_nothing_are_left_out(body: bytes, content_type: str) -> None:
    audit = Audit("RequestResponse", omitStages=["RequestReceived"])
    event = audit.begin(sending("POST", PODS, body, content_type), CREATE)
    event.complete(Response(400, body, JSON))
    (line,) = audit.lines()
    assert "requestObject" not in line
    assert line["responseStatus"] == {"metadata": {}, "code": 400}


def test_a_patch_is_shown_as_it_came_and_a_list_whole() -> None:
    audit = Audit("RequestResponse", omitStages=["RequestReceived"])
    patch = [{"op": "remove", "path": "/data"}]
    request = sending("PATCH", f"{PODS}/p", patch, "application/json-patch+json")
    body = Joined(b'{"items":[', [b'{"a":1}', b'{"b":2}'], b",", b"]}")
    audit.begin(request, GET._replace(verb="patch")).complete(Response(200, body, JSON))
    (line,) = audit.lines()
    assert line["requestObject"] == patch
    assert line["responseObject"] == {"items": [{"a": 1}, {"b": 2}]}


def test_a_refusal_tells_its_status() -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"])
    audit.begin(ask(PODS), GET).complete(failure(not_found("", "pods", "p")))
    (line,) = audit.lines()
    assert line["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": 'pods "p" not found',
        "reason": "NotFound",
        "details": {"name": "p", "kind": "pods"},
        "code": 404,
    }


def test_a_watch_starts_and_ends() -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"])
    event = audit.begin(ask(PODS), Action("watch", "", "v1", "pods", "", "ns"))
    event.started()
    event.complete()
    assert [line["stage"] for line in audit.lines()] == ["ResponseStarted", "ResponseComplete"]


def test_a_fault_of_the_server_is_a_panic() -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"])
    audit.begin(ask(PODS), GET).panic(RuntimeError("boom"))
    (line,) = audit.lines()
    assert (line["stage"], line["responseStatus"]) == (
        "Panic",
        {
            "metadata": {},
            "status": "Failure",
            "message": "APIServer panic'd: boom",
            "reason": "InternalError",
            "code": 500,
        },
    )


@pytest.mark.parametrize(
    ("headers", "target", "text"),
    [
        ({"authorization": "Bearer x"}, PODS, "Authentication failed, attempted: bearer"),
        ({"authorization": "Basic eDp5"}, PODS, "Authentication failed, attempted: basic"),
        ({}, f"{PODS}?access_token=x", "Authentication failed, attempted: access_token"),
        ({}, PODS, "Authentication failed, no credentials provided"),
    ],
)
def test_a_request_without_a_user_is_logged_once(headers: dict[str, str], target: str, text: str) -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"])
    audit.auditor.refuse(ask(target, **headers), GET)
    (line,) = audit.lines()
    assert line["stage"] == "ResponseStarted"
    assert line["user"] == {}
    assert line["responseStatus"] == {"metadata": {}, "message": text, "code": 401}


def test_impersonation_shows_both_users_but_only_from_then_on() -> None:
    audit = Audit("Metadata")
    event = audit.begin(ask(PODS), GET)
    event.impersonate(User("bob"))
    event.complete()
    first, second = audit.lines()
    assert "impersonatedUser" not in first
    assert (second["user"]["username"], second["impersonatedUser"]) == ("ann", {"username": "bob"})


def test_the_first_annotation_of_a_key_counts() -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"])
    event = audit.begin(ask(PODS), GET)
    event.annotate("pod-security.kubernetes.io/enforce-policy", "restricted:latest")
    event.annotate("pod-security.kubernetes.io/enforce-policy", "baseline:latest")
    event.complete()
    (line,) = audit.lines()
    assert line["annotations"] == {"pod-security.kubernetes.io/enforce-policy": "restricted:latest"}


@pytest.mark.parametrize(("level", "shown"), [("Metadata", False), ("Request", True)])
def test_what_webhooks_changed_is_shown_where_requests_are(level: str, shown: bool) -> None:
    audit = Audit(level, omitStages=["RequestReceived"])
    event = audit.begin(ask(PODS), GET)
    patch = "patch.webhook.admission.k8s.io/round_0_index_0"
    event.note({"mutation.webhook.admission.k8s.io/round_0_index_0": "{}", patch: "{}"})
    event.complete()
    (line,) = audit.lines()
    assert (patch in line["annotations"], len(line["annotations"])) == (shown, 1 + shown)


@pytest.mark.parametrize(
    ("headers", "addresses"),
    [
        ({}, ["127.0.0.1"]),
        ({"x_forwarded_for": "10.0.0.1, junk,2001:db8::1"}, ["10.0.0.1", "2001:db8::1", "127.0.0.1"]),
        ({"x_forwarded_for": "10.0.0.1", "x_real_ip": "10.0.0.1"}, ["10.0.0.1", "127.0.0.1"]),
        ({"x_real_ip": "10.0.0.2"}, ["10.0.0.2", "127.0.0.1"]),
        ({"x_forwarded_for": "127.0.0.1"}, ["127.0.0.1"]),
    ],
)
def test_source_addresses(headers: dict[str, str], addresses: list[str]) -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"])
    audit.begin(ask(PODS, **headers), GET).complete()
    assert audit.lines()[0]["sourceIPs"] == addresses


def test_a_long_user_agent_is_cut() -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"])
    audit.begin(ask(PODS, user_agent="x" * 2000), GET).complete()
    assert audit.lines()[0]["userAgent"] == "x" * 1024 + "...TRUNCATED"


def test_a_path_request_has_no_object_and_no_bodies() -> None:
    audit = Audit("RequestResponse", omitStages=["RequestReceived"])
    audit.begin(sending("POST", "/metrics", {"a": 1}), Action("post", path="/metrics")).complete(
        Response(200, b'{"b":2}', JSON)
    )
    (line,) = audit.lines()
    assert not {"objectRef", "requestObject", "responseObject"} & line.keys()


def test_managed_fields_are_left_out_on_request() -> None:
    audit = Audit("RequestResponse", omitStages=["RequestReceived"], omitManagedFields=True)
    body = {"metadata": {"name": "p", "managedFields": [{}]}}
    items = {"items": [body], "rows": [{"object": body}]}
    audit.begin(sending("POST", PODS, body), CREATE).complete(Response(200, orjson.dumps(items), JSON))
    lines = audit.lines()
    assert "managedFields" not in orjson.dumps(lines).decode()


# Tokens

TOKEN = "s3cr3t"
LAST = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize(
    ("action", "body"),
    [
        (
            Action("create", "authentication.k8s.io", "v1", "tokenreviews"),
            {"kind": "TokenReview", "spec": {"token": TOKEN}},
        ),
        (
            Action("create", "", "v1", "serviceaccounts", "token", "ns", "a"),
            {"kind": "TokenRequest", "status": {"token": TOKEN}},
        ),
        (Action("create", "", "v1", "secrets"), {"data": {"token": TOKEN, "ca.crt": "x"}}),
        (Action("create", "", "v1", "secrets"), {"stringData": {"token-secret": TOKEN}}),
        (Action("update", "", "v1", "secrets"), {"metadata": {"annotations": {LAST: TOKEN}}}),
        (Action("list", "", "v1", "secrets"), {"items": [{"data": {"token": TOKEN}}]}),
        (Action("list", "", "v1", "secrets"), {"rows": [{"object": {"data": {"token": TOKEN}}}]}),
        (Action("patch", "", "v1", "secrets"), [{"op": "add", "path": "/data/token", "value": TOKEN}]),
        (Action("patch", "", "v1", "secrets"), [{"op": "add", "path": "/data", "value": {"token": TOKEN}}]),
        (
            Action("patch", "", "v1", "secrets"),
            [{"op": "add", "path": "", "value": {"data": {"token": TOKEN}}}],
        ),
        (
            Action("patch", "", "v1", "secrets"),
            [{"op": "add", "path": "/metadata/annotations", "value": {LAST: TOKEN}}],
        ),
    ],
    ids=str,
)
def test_tokens_are_never_written(action: Action, body: Any) -> None:
    audit = Audit("RequestResponse")
    request = sending("POST", f"/x?token={TOKEN}&access_token={TOKEN}", body, authorization=f"Bearer {TOKEN}")
    audit.begin(request, action).complete(Response(200, orjson.dumps(body), JSON))
    lines = audit.lines()
    assert len(lines) == 2
    assert lines[1]["requestObject"]
    assert lines[1]["responseObject"]
    assert TOKEN.encode() not in audit.log.data
    assert REDACTED.encode() in audit.log.data


@settings(deadline=None, derandomize=True)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "metadata",
                        "data",
                        "stringData",
                        "spec",
                        "status",
                        "items",
                        "rows",
                        "object",
                        "annotations",
                        "token",
                        "path",
                        "value",
                    ]
                ),
                inner,
            )
        ),
    )
)
def test_redaction_takes_any_body(value: Any) -> None:
    for resource in ("secrets", "tokenreviews", "serviceaccounts/token", "pods"):
        redact(value, resource)


def test_other_addresses_stay_as_they_are() -> None:
    assert redact_uri("/x?continue=abc&limit=5") == "/x?continue=abc&limit=5"
    assert redact_uri("/x?Token=a&b=c") == f"/x?Token={REDACTED}&b=c"


# Writing


def test_a_log_that_cannot_keep_up_drops_and_counts(caplog: pytest.LogCaptureFixture) -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"], writer={"most_waiting": 5})
    audit.log.go.clear()
    for _ in range(20):
        audit.begin(ask(PODS), GET).complete()
    metrics = audit.auditor.metrics()
    assert metrics["apiserver_audit_error_total"][(("plugin", "buffered"),)] == 15
    audit.log.go.set()
    assert len(audit.lines()) == 5
    assert [record.message for record in caplog.records] == [
        "audit events are dropped: the log cannot keep up",
        "15 audit events were dropped",
    ]
    assert audit.auditor.metrics()["apiserver_audit_event_total"] == {(): 5}


def test_large_bodies_count_by_their_size() -> None:
    writer = {"most_waiting_bytes": 1 << 20}
    audit = Audit("RequestResponse", omitStages=["RequestReceived"], writer=writer)
    audit.log.go.clear()
    for _ in range(10):
        audit.begin(ask(PODS), GET).complete(Response(200, b'"' + b"x" * 300_000 + b'"', JSON))
    audit.log.go.set()
    assert len(audit.lines()) == 3
    assert audit.writer.dropped == 7


def test_a_full_disk_is_reported_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    audit = Audit("Metadata", omitStages=["RequestReceived"])
    audit.log.broken = True
    for _ in range(3):
        audit.begin(ask(PODS), GET).complete()
    assert audit.lines() == []
    assert audit.auditor.metrics()["apiserver_audit_error_total"][(("plugin", "log"),)] == 3
    assert "No space left on device" in caplog.text


def test_everything_is_in_the_file_when_it_is_closed(tmp_path: Path) -> None:
    async def body() -> None:
        auditor = Auditor.open(None, str(tmp_path / "logs" / "audit.log"))
        for number in range(500):
            event = auditor.begin(ask(f"{PODS}/{number}"), ANN, GET)
            assert event is not None
            event.complete()
        await auditor.close()

    asyncio.run(body())
    file = tmp_path / "logs" / "audit.log"
    lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert [line["requestURI"] for line in lines] == [f"{PODS}/{number}" for number in range(500)]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogUnusable, match=r"Is a directory"):
        Auditor.open(None, str(tmp_path))


def test_a_large_file_is_put_aside_and_the_oldest_are_forgotten(tmp_path: Path) -> None:
    clock = [NOW]
    file = RotatingFile(tmp_path / "audit.log", Rotation(max_bytes=10, max_backups=2), lambda: clock[0])
    (tmp_path / "audit-mine.log").write_text("not of the rotation")
    for number in range(5):
        file.write(b"line %d\n" % number)
        clock[0] += 1
    file.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit-2023-11-14T22-13-23.250.log",
        "audit-2023-11-14T22-13-24.250.log",
        "audit-mine.log",
        "audit.log",
    ]
    assert (tmp_path / "audit.log").read_bytes() == b"line 4\n"


def test_old_files_are_forgotten_and_an_existing_log_is_continued(tmp_path: Path) -> None:
    (tmp_path / "audit.log").write_bytes(b"before\n")
    (tmp_path / "audit-2023-11-01T00-00-00.000.log").write_bytes(b"old\n")
    (tmp_path / "audit-2023-11-13T00-00-00.000.log").write_bytes(b"recent\n")
    file = RotatingFile(tmp_path / "audit.log", Rotation(max_age_days=7), lambda: NOW)
    file.write(b"after\n")
    file.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit-2023-11-13T00-00-00.000.log",
        "audit.log",
    ]
    assert (tmp_path / "audit.log").read_bytes() == b"before\nafter\n"


async def logged(tmp_path: Path, requests: Callable[[ApiClient], Awaitable[None]]) -> list[dict[str, Any]]:
    """The lines about creates in a real server's log."""
    log = tmp_path / "audit.log"
    async with asyncio.timeout(PATIENCE_S), api(audit_log=str(log)) as client:
        await requests(client)
    lines = [orjson.loads(line) for line in log.read_bytes().splitlines()]
    return [line for line in lines if line["verb"] == "create" and line["stage"] != "RequestReceived"]


def test_what_admission_notes_is_logged_whether_it_refuses_or_not(tmp_path: Path) -> None:
    container = {"name": "c", "image": "i", "securityContext": {"privileged": True}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}

    async def requests(client: ApiClient) -> None:
        for name, mode in (("watched", "audit"), ("guarded", "enforce")):
            labels = {f"pod-security.kubernetes.io/{mode}": "baseline"}
            await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
            account = f"/api/v1/namespaces/{name}/serviceaccounts"
            await client.ok("POST", account, {"metadata": {"name": "default"}})
            code, _ = await client.ask("POST", f"/api/v1/namespaces/{name}/pods", pod)
            assert code == (201 if mode == "audit" else 403)

    lines = asyncio.run(logged(tmp_path, requests))
    watched, guarded = (line["annotations"] for line in lines if line["objectRef"]["resource"] == "pods")
    prefix = "pod-security.kubernetes.io/"
    assert watched[f"{prefix}enforce-policy"] == "privileged:latest"
    assert watched[f"{prefix}audit-violations"].startswith('would violate PodSecurity "baseline:latest"')
    assert guarded[f"{prefix}enforce-policy"] == "baseline:latest"


def test_whom_somebody_acts_as_is_logged_and_nobody_else(tmp_path: Path) -> None:
    async def requests(client: ApiClient) -> None:
        path = "/api/v1/namespaces/default/configmaps"
        await client.ok("POST", path, {"metadata": {"name": "mine"}})
        as_master = {"impersonate-user": "ann", "impersonate-group": "system:masters"}
        await client.ok("POST", path, {"metadata": {"name": "anns"}}, as_master)

    own, acting = (
        line.get("impersonatedUser", {}).get("username", "")
        for line in asyncio.run(logged(tmp_path, requests))
        if line["objectRef"]["resource"] == "configmaps"
    )
    assert (own, acting) == ("", "ann")


def test_what_policies_note_is_logged(tmp_path: Path) -> None:
    base = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    policy = {
        "metadata": {"name": "notes"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.metadata.name != 'odd'", "message": "odd"}],
            "auditAnnotations": [{"key": "who", "valueExpression": "'by ' + request.userInfo.username"}],
        },
    }
    binding = {
        "metadata": {"name": "notes"},
        "spec": {"policyName": "notes", "validationActions": ["Audit"]},
    }

    async def requests(client: ApiClient) -> None:
        await client.ok("POST", f"{base}/validatingadmissionpolicies", policy)
        await client.ok("POST", f"{base}/validatingadmissionpolicybindings", binding)
        await client.ok("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "odd"}})

    lines = asyncio.run(logged(tmp_path, requests))
    (noted,) = (line["annotations"] for line in lines if line["objectRef"]["resource"] == "configmaps")
    assert noted["notes/who"] == "by admin"
    (failure,) = orjson.loads(noted["validation.policy.admission.k8s.io/validation_failure"])
    assert (failure["policy"], failure["message"]) == ("notes", "odd")


def test_a_request_that_fails_by_a_fault_ends_in_a_panic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault() -> str:
        raise RuntimeError("boom")

    async def requests(client: ApiClient) -> None:
        monkeypatch.setattr("steersman.cluster.apiserver.verbs.create.new_uid", fault)
        code, _ = await client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
        assert code == 500
        monkeypatch.undo()

    (line,) = asyncio.run(logged(tmp_path, requests))
    assert line["stage"] == "Panic"
    assert line["responseStatus"]["message"] == "APIServer panic'd: boom"
