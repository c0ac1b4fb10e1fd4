"""What webhooks are asked, what their answers do, and what happens when they misbehave."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import orjson
import pytest

from steersman.cluster.admission import Attributes
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.users import User
from steersman.cluster.schema.resources import GVK
from steersman.http import Response
from steersman.objects.status import StatusError

from .conftest import write
from .webhook_server import CONCURRENT_CALLS, Hooks, Object, ca_bundle, patch, rule, with_hooks


def config_map(**metadata: Any) -> Object:
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "default", **metadata},
    }


def create(obj: Object | None = None, **rest: Any) -> Attributes:
    written = obj or config_map()
    attributes = write("configmaps", written, kind="ConfigMap", **rest)
    written.pop("spec", None)
    return attributes


def allow(_: Object) -> Object:
    return {}


def label(name: str, value: str = "1") -> Object:
    return {"op": "add", "path": f"/metadata/labels/{name}", "value": value}


async def refused(server: Hooks, attributes: Attributes) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await server.write(attributes)
    return caught.value


# What is asked


@with_hooks
async def test_a_review_has_everything_about_the_write(server: Hooks) -> None:
    server.add("v", allow)
    user = User("jane", "u1", ("dev",), {"scopes": ("a", "b")})
    await server.write(create(user=user, dry_run=True))
    ((path, request),) = server.seen
    assert path == "/v"
    assert len(request.pop("uid")) == 36
    assert list(request) == [
        "kind", "resource", "requestKind", "requestResource", "name", "namespace", "operation", "userInfo",
        "object", "oldObject", "dryRun", "options",
    ]  # fmt: skip
    assert request == {
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "a",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "jane", "uid": "u1", "groups": ["dev"], "extra": {"scopes": ["a", "b"]}},
        "object": config_map(),
        "oldObject": None,
        "dryRun": True,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    assert server.targets == ["/v?timeout=10s"]
    assert server.headers[0]["content-type"] == "application/json"


@with_hooks
async def test_a_service_is_called_under_its_own_name(server: Hooks) -> None:
    service = {"service": {"namespace": "system", "name": "hook", "path": "/v", "port": 8443}}
    server.add("v", allow, clientConfig={**service, "caBundle": ca_bundle()}, timeoutSeconds=3)
    await server.write(create())
    assert server.headers[0]["host"] == "hook.system.svc:8443"
    assert server.targets == ["/v?timeout=3s"]


CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
MATCHES: dict[str, tuple[Object, bool]] = {
    "exactly this": ({"rules": [rule(**CONFIG_MAPS, operations=["CREATE"])]}, True),
    "another operation": ({"rules": [rule(**CONFIG_MAPS, operations=["UPDATE", "DELETE"])]}, False),
    "another group": ({"rules": [rule(apiGroups=["apps"])]}, False),
    "another version": ({"rules": [rule(apiVersions=["v2"])]}, False),
    "another resource": ({"rules": [rule(resources=["pods"])]}, False),
    "all resources": ({"rules": [rule(resources=["*"])]}, True),
    "only subresources": ({"rules": [rule(resources=["*/status"])]}, False),
    "resource with any subresource": ({"rules": [rule(resources=["configmaps/*"])]}, True),
    "namespaced": ({"rules": [rule(scope="Namespaced")]}, True),
    "clusterwide": ({"rules": [rule(scope="Cluster")]}, False),
    "second rule": ({"rules": [rule(resources=["pods"]), rule()]}, True),
    "no rules": ({"rules": []}, False),
    "namespace selected": ({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, True),
    "namespace not selected": ({"namespaceSelector": {"matchLabels": {"team": "red"}}}, False),
    "object selected": ({"objectSelector": {"matchLabels": {"app": "x"}}}, True),
    "object not selected": ({"objectSelector": {"matchLabels": {"app": "y"}}}, False),
    "condition holds": (
        {
            "matchConditions": [
                {"name": "c", "expression": "request.name == 'a' && request.operation == 'CREATE'"}
            ]
        },
        True,
    ),
    "condition does not hold": (
        {"matchConditions": [{"name": "c", "expression": "object.metadata.name == 'b'"}]},
        False,
    ),
    "false wins over an error": (
        {
            "matchConditions": [
                {"name": "c", "expression": "object.nothing == 1"},
                {"name": "d", "expression": "false"},
            ]
        },
        False,
    ),
    "an ignored error": (
        {"matchConditions": [{"name": "c", "expression": "object.nothing == 1"}], "failurePolicy": "Ignore"},
        False,
    ),
}


@pytest.mark.parametrize(("webhook", "called"), MATCHES.values(), ids=MATCHES)
def test_a_webhook_is_asked_about_what_it_wants_to_see(webhook: Object, called: bool) -> None:
    @with_hooks
    async def run(server: Hooks) -> None:
        server.add("v", allow, **webhook)
        await server.write(create(config_map(labels={"app": "x"})))
        assert bool(server.seen) == called

    run()


@with_hooks
async def test_the_old_object_can_be_what_is_selected(server: Hooks) -> None:
    server.add("v", allow, objectSelector={"matchLabels": {"app": "x"}})
    old = config_map(labels={"app": "x"})
    await server.write(create(config_map(), old=old, operation="UPDATE"))
    await server.write(create(config_map(), old=config_map(), operation="UPDATE"))
    assert [request["oldObject"] for _, request in server.seen] == [old]


@with_hooks
async def test_a_namespace_is_selected_by_the_labels_it_is_about_to_have(server: Hooks) -> None:
    server.add("v", allow, namespaceSelector={"matchLabels": {"team": "green"}})
    for team in ("green", "red"):
        namespace = {"metadata": {"name": "n", "labels": {"team": team}}}
        await server.write(write("namespaces", namespace, kind="Namespace", name="n", namespace="n"))
    assert len(server.seen) == 1


@with_hooks
async def test_a_missing_namespace_is_an_error_only_for_those_who_ask(server: Hooks) -> None:
    server.add("v", allow)
    await server.write(create(namespace="gone"))
    server.add("w", allow, namespaceSelector={"matchLabels": {"team": "red"}})
    error = await refused(server, create(namespace="gone"))
    assert (error.code, error.message) == (404, 'namespaces "gone" not found')


@with_hooks
async def test_a_failing_condition_forbids_the_write(server: Hooks) -> None:
    server.add("v", allow, matchConditions=[{"name": "c", "expression": "object.nothing == 1"}])
    error = await refused(server, create())
    assert error.code == 403
    assert error.message == (
        "configmaps \"a\" is forbidden: expression 'object.nothing == 1' resulted in error: no such key: nothing"
    )


AUTOSCALER: Object = {
    "kind": "HorizontalPodAutoscaler",
    "apiVersion": "autoscaling/v1",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50},
    "status": {"currentReplicas": 0, "desiredReplicas": 0},
}  # fmt: skip


def scale(**rest: Any) -> Attributes:
    obj = orjson.loads(orjson.dumps(AUTOSCALER))
    return write("horizontalpodautoscalers", obj, group="autoscaling", kind="HorizontalPodAutoscaler", **rest)


@with_hooks
async def test_an_equivalent_version_is_shown_converted_and_changed_back(server: Hooks) -> None:
    change = {"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 70}
    only_v2 = rule(apiGroups=["autoscaling"], apiVersions=["v2"], resources=["horizontalpodautoscalers"])
    server.add("m", lambda _: patch(change), mutating=True, rules=[only_v2])
    attributes = await server.write(scale())
    ((_, request),) = server.seen
    assert request["kind"]["version"] == request["resource"]["version"] == "v2"
    assert request["requestKind"]["version"] == request["requestResource"]["version"] == "v1"
    assert request["object"]["apiVersion"] == "autoscaling/v2"
    assert attributes.object is not None
    assert attributes.object["apiVersion"] == "autoscaling/v1"
    assert attributes.object["spec"]["targetCPUUtilizationPercentage"] == 70


@with_hooks
async def test_exact_means_exact(server: Hooks) -> None:
    only_v2 = rule(apiGroups=["autoscaling"], apiVersions=["v2"], resources=["horizontalpodautoscalers"])
    server.add("m", allow, mutating=True, rules=[only_v2], matchPolicy="Exact")
    await server.write(scale())
    assert server.seen == []


@with_hooks
async def test_what_guards_the_cluster_is_not_guarded(server: Hooks) -> None:
    for plugin in (server.mutating, server.validating):
        assert not plugin.handles(
            "UPDATE", "admissionregistration.k8s.io", "validatingwebhookconfigurations", ""
        )
        assert not plugin.handles("CREATE", "authorization.k8s.io", "subjectaccessreviews", "")
        assert plugin.handles("CREATE", "", "pods", "binding")


# What answers do


DENIALS: dict[str, tuple[Object, int, str, str]] = {
    "no word": ({}, 400, "", 'admission webhook "v.example.com" denied the request without explanation'),
    "a message": (
        {"status": {"message": "not on a Friday", "code": 403, "reason": "Forbidden"}},
        403, "Forbidden", 'admission webhook "v.example.com" denied the request: not on a Friday',
    ),
    "only a reason": (
        {"status": {"reason": "Friday"}},
        400, "Friday", 'admission webhook "v.example.com" denied the request: Friday',
    ),
    "a success that is none": (
        {"status": {"status": "Success", "code": 200, "message": "fine"}},
        400, "", 'admission webhook "v.example.com" denied the request: fine',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("response", "code", "reason", "message"), DENIALS.values(), ids=DENIALS)
@pytest.mark.parametrize("mutating", [False, True], ids=["validating", "mutating"])
def test_a_denial_is_told_in_the_webhooks_words(
    response: Object, code: int, reason: str, message: str, mutating: bool
) -> None:
    @with_hooks
    async def run(server: Hooks) -> None:
        server.add("v", lambda _: {"allowed": False, **response}, mutating=mutating, failurePolicy="Ignore")
        error = await refused(server, create())
        assert (error.code, error.reason, error.message) == (code, reason, message)
        assert error.status()["status"] == "Failure"

    run()


@with_hooks
async def test_details_of_a_denial_survive(server: Hooks) -> None:
    details = {"causes": [{"field": "data", "message": "no"}]}
    server.add("v", lambda _: {"allowed": False, "status": {"details": details}})
    assert (await refused(server, create())).details == details


@with_hooks
async def test_warnings_and_annotations_come_with_any_answer(server: Hooks) -> None:
    server.add("v", lambda _: {"warnings": ["careful"], "auditAnnotations": {"k": "1", "not ok": "2"}})
    server.add("w", lambda _: {"allowed": False, "warnings": ["very"], "auditAnnotations": {"k": "2"}})
    attributes = create()
    await refused(server, attributes)
    assert sorted(attributes.warnings) == ["careful", "very"]
    assert attributes.annotations == {"v.example.com/k": "1", "w.example.com/k": "2"}


@with_hooks
async def test_validating_webhooks_are_asked_at_the_same_time(server: Hooks) -> None:
    together = asyncio.Barrier(3)

    async def wait(_: Object) -> Object:
        await together.wait()
        return {}

    for name in "abc":
        server.add(name, wait)
    await server.write(create())
    assert sorted(path for path, _ in server.seen) == ["/a", "/b", "/c"]


@with_hooks
async def test_the_first_configured_refusal_is_the_answer_and_all_are_heard(server: Hooks) -> None:
    slow = asyncio.Event()

    async def later(_: Object) -> Object:
        await slow.wait()
        return {"allowed": False, "status": {"message": "a"}}

    def sooner(_: Object) -> Object:
        slow.set()
        return {"allowed": False, "status": {"message": "b"}}

    server.add("a", later)
    server.add("b", sooner)
    error = await refused(server, create())
    assert error.message.endswith(": a")
    assert len(server.metrics.requests) == 2


# Changes


@with_hooks
async def test_patches_add_up_in_the_order_of_names(server: Hooks) -> None:
    server.add("b", lambda _: patch(label("two")), mutating=True)
    server.add(
        "a", lambda _: patch({"op": "add", "path": "/metadata/labels", "value": {"one": "1"}}), mutating=True
    )
    obj = config_map()
    metadata = obj["metadata"]
    attributes = await server.write(create(obj))
    assert [path for path, _ in server.seen] == ["/a", "/b"]
    assert attributes.object is obj
    assert obj["metadata"] is metadata
    assert metadata["labels"] == {"one": "1", "two": "1"}
    noted = orjson.loads(attributes.annotations["mutation.webhook.admission.k8s.io/round_0_index_0"])
    assert noted == {"configuration": "a", "webhook": "a.example.com", "mutated": True}


@with_hooks
async def test_a_patched_object_gets_defaults_and_loses_what_is_unknown(server: Hooks) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "bogus": 1}
    server.add("m", lambda _: patch({"op": "replace", "path": "/spec", "value": spec}), mutating=True)
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {}}
    attributes = await server.write(write("pods", pod, kind="Pod"))
    assert attributes.object is not None
    assert "bogus" not in attributes.object["spec"]
    assert attributes.object["spec"]["restartPolicy"] == "Always"


@with_hooks
async def test_a_connection_is_asked_about_and_its_options_may_change(server: Hooks) -> None:
    about = {"rules": [rule(operations=["CONNECT"], resources=["pods/attach"])]}
    server.add(
        "a", lambda _: patch({"op": "add", "path": "/container", "value": "main"}), mutating=True, **about
    )
    server.add("b", allow, **about)
    options = {"kind": "PodAttachOptions", "apiVersion": "v1", "stdin": True}
    connecting = write("pods", operation="CONNECT", subresource="attach", kind="Pod")
    connecting.object, connecting.object_kind = options, GVK("", "v1", "PodAttachOptions")
    await server.write(connecting)
    assert [(path, request["operation"], request["object"]) for path, request in server.seen] == [
        ("/a", "CONNECT", {"kind": "PodAttachOptions", "apiVersion": "v1", "stdin": True}),
        (
            "/b",
            "CONNECT",
            {"kind": "PodAttachOptions", "apiVersion": "v1", "stdin": True, "container": "main"},
        ),
    ]
    asked = server.seen[0][1]
    assert (asked["kind"]["kind"], asked["subResource"], asked["options"]) == (
        "PodAttachOptions",
        "attach",
        None,
    )


@with_hooks
async def test_owners_that_make_no_sense_are_restored(server: Hooks) -> None:
    good = [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {}},
        }
    ]
    bad = [{**good[0], "operation": "Invent"}]
    change = {"op": "replace", "path": "/metadata/managedFields", "value": bad}
    server.add("m", lambda _: patch(change), mutating=True)
    attributes = await server.write(create(config_map(managedFields=good)))
    assert attributes.object is not None
    assert attributes.object["metadata"]["managedFields"] == good
    assert attributes.warnings == [
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated "
        "mutating admission controller; please fix your requests: operation must be `Apply` or `Update`"
    ]


def repeatable(added: str) -> Any:
    """Adds a label once; asked again, it has nothing to add."""

    def behave(request: Object) -> Object:
        labels = request["object"]["metadata"].get("labels") or {}
        if added in labels:
            return {}
        whole = {"op": "add", "path": "/metadata/labels", "value": {**labels, added: "1"}}
        return patch(whole)

    return behave


REINVOCATIONS: dict[str, tuple[str, str, list[str]]] = {
    "never": ("Never", "Never", ["/a", "/b"]),
    "the first, for the second changed the object": ("IfNeeded", "Never", ["/a", "/b", "/a"]),
    "not the last, nothing changed after it": ("Never", "IfNeeded", ["/a", "/b"]),
    "only where needed": ("IfNeeded", "IfNeeded", ["/a", "/b", "/a"]),
}


@pytest.mark.parametrize(("first", "second", "calls"), REINVOCATIONS.values(), ids=REINVOCATIONS)
def test_webhooks_are_asked_again_when_others_changed_the_object(
    first: str, second: str, calls: list[str]
) -> None:
    @with_hooks
    async def run(server: Hooks) -> None:
        server.add("a", repeatable("a"), mutating=True, reinvocationPolicy=first)
        server.add("b", repeatable("b"), mutating=True, reinvocationPolicy=second)
        await server.write(create())
        assert [path for path, _ in server.seen] == calls

    run()


@with_hooks
async def test_a_webhook_that_always_changes_something_is_asked_twice_at_most(server: Hooks) -> None:
    def count(request: Object) -> Object:
        seen = int((request["object"]["metadata"].get("labels") or {}).get("n", 0))
        return patch({"op": "add", "path": "/metadata/labels", "value": {"n": str(seen + 1)}})

    server.add("a", count, mutating=True, reinvocationPolicy="IfNeeded")
    server.add("b", count, mutating=True, reinvocationPolicy="IfNeeded")
    attributes = await server.write(create())
    assert [path for path, _ in server.seen] == ["/a", "/b", "/a", "/b"]
    assert attributes.object is not None
    assert attributes.object["metadata"]["labels"] == {"n": "4"}


# Dry run


@pytest.mark.parametrize(
    ("side_effects", "refusal"), [("None", 0), ("NoneOnDryRun", 0), ("Some", 400), ("Unknown", 400)]
)
@pytest.mark.parametrize("mutating", [False, True], ids=["validating", "mutating"])
def test_webhooks_with_side_effects_are_not_asked_on_dry_run(
    side_effects: str, refusal: int, mutating: bool
) -> None:
    @with_hooks
    async def run(server: Hooks) -> None:
        server.add("v", allow, mutating=mutating, sideEffects=side_effects, failurePolicy="Ignore")
        await server.write(create())
        if not refusal:
            await server.write(create(dry_run=True))
            assert len(server.seen) == 2
            return
        error = await refused(server, create(dry_run=True))
        message = 'admission webhook "v.example.com" does not support dry run'
        assert (error.code, error.message) == (refusal, message)
        assert len(server.seen) == 1

    run()


# Misbehaviour


def encoded(patch: bytes, kind: str = "JSONPatch") -> Object:
    return {"patch": base64.b64encode(patch).decode(), "patchType": kind}


def review(**changes: Any) -> Any:
    """An answer that is put together by hand."""

    def behave(request: Object) -> Response:
        response = {"uid": request["uid"], "allowed": True}
        whole = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        return Response(200, orjson.dumps({**whole, **changes}))

    return behave


INVALID = "received invalid webhook response: "
CALL = "failed to call webhook: "
UNDECODABLE = "received undecodable patch in webhook response: "
FAILURES: dict[str, tuple[Any, bool, str]] = {
    "no answer": (review(response=None), False, INVALID + "webhook response was absent"),
    "an answer to another question": (
        lambda r: {"uid": "x"}, False, INVALID + 'expected response.uid="UID", got "x"',
    ),
    "another kind of answer": (
        review(kind="Foo"), False,
        CALL + 'no kind "Foo" is registered for version "admission.k8s.io/v1" in scheme '
        '"k8s.io/apiserver/pkg/util/webhook/client.go:74"',
    ),
    "an answer of another version": (
        review(apiVersion="admission.k8s.io/v1beta1"), False,
        CALL + "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ),
    "an answer of no kind": (
        review(kind="", apiVersion=""), False,
        INVALID + "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ),
    "an answer that is nothing": (
        lambda r: Response(200, b"", ((b"Content-Type", b"application/json"),)), False,
        CALL + "0-length response with status code: 200 and content type: application/json",
    ),
    "null": (lambda r: Response(200, b"null"), False, INVALID + "webhook response was absent"),
    "half an answer": (
        lambda r: Response(200, b"{"), False,
        CALL + "couldn't get version/kind; json parse error: unexpected end of JSON input",
    ),
    "an answer that is text": (
        lambda r: Response(200, b"hello"), False,
        CALL + "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type "
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    ),
    "a response that is a number": (
        review(response=1), False,
        CALL + "json: cannot unmarshal number into Go struct field AdmissionReview.response of type "
        "v1.AdmissionResponse",
    ),
    "a validating webhook with a patch": (
        lambda r: patch(label("x")), False, INVALID + "validating webhook may not return response.patch",
    ),
    "a validating webhook with a patch type": (
        lambda r: {"patchType": "JSONPatch"}, False,
        INVALID + "validating webhook may not return response.patchType",
    ),
    "a patch without type": (
        lambda r: {"patch": "W10="}, True, INVALID + "webhook returned response.patch but not response.patchType",
    ),
    "a type without patch": (
        lambda r: {"patchType": "JSONPatch"}, True,
        INVALID + "webhook returned response.patchType but not response.patch",
    ),
    "an empty type": (
        lambda r: encoded(b"[{}]", ""), True, INVALID + 'webhook returned invalid response.patchType of ""',
    ),
    "an unknown type": (
        lambda r: encoded(b'[{"op":"add"}]', "Merge"), True, 'unsupported patch type "Merge"',
    ),
    "a patch that is no list": (
        lambda r: encoded(b"{}"), True,
        UNDECODABLE + "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
    ),
    "a patch that is no base64": (
        lambda r: {"patch": "%", "patchType": "JSONPatch"}, True,
        CALL + "illegal base64 data at input byte 0",
    ),
    "an answer of the wrong type": (
        lambda r: {"allowed": "yes"}, False,
        CALL + "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
    ),
    "warnings that are none": (
        lambda r: {"warnings": [1]}, False,
        CALL + "json: cannot unmarshal number into Go struct field AdmissionResponse.response.warnings of type string",
    ),
    "a status of the wrong type": (
        lambda r: {"status": {"details": {"causes": "x"}}}, False,
        CALL + "json: cannot unmarshal string into Go struct field StatusDetails.response.status.details.causes "
        "of type []v1.StatusCause",
    ),
    "an internal error that is no text": (
        lambda r: Response(500, b"oops"), False,
        CALL + 'an error on the server ("unknown") has prevented the request from succeeding',
    ),
    "an internal error": (
        lambda r: Response(500, b"oops", ((b"Content-Type", b"text/plain"),)), False,
        CALL + 'an error on the server ("oops") has prevented the request from succeeding',
    ),
    "not found": (
        lambda r: Response(404, b"?"), False, CALL + "the server could not find the requested resource",
    ),
    "a redirect": (
        lambda r: Response(307, b"", ((b"Location", b"/elsewhere"),)), False,
        CALL + "the server responded with the status code 307 but did not return more information",
    ),
    "a Status": (
        lambda r: Response(409, b'{"kind":"Status","message":"busy"}'), False, CALL + "busy",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("behaviour", "mutating", "why"), FAILURES.values(), ids=FAILURES)
def test_a_bad_answer_fails_the_write_unless_failures_are_ignored(
    behaviour: Any, mutating: bool, why: str
) -> None:
    @with_hooks
    async def run(server: Hooks) -> None:
        server.add("v", behaviour, mutating=mutating)
        error = await refused(server, create())
        expected = why.replace("UID", server.seen[0][1]["uid"])
        assert error.message == f'Internal error occurred: failed calling webhook "v.example.com": {expected}'
        assert (error.code, error.reason) == (500, "InternalError")
        server.stored.objects.clear()
        server.add("v", behaviour, mutating=mutating, failurePolicy="Ignore")
        attributes = await server.write(create())
        assert attributes.object == config_map()
        assert sum(server.metrics.failed_open.values()) == 1
        prefix = "failed-open.mutation" if mutating else "failed-open.validating"
        assert attributes.annotations[f"{prefix}.webhook.admission.k8s.io/round_0_index_0"] == "v.example.com"

    run()


@with_hooks
async def test_garbage_is_no_answer(server: Hooks) -> None:
    server.add("v", lambda _: Response(200, b"<html>"))
    error = await refused(server, create())
    assert "couldn't get version/kind; json parse error: " in error.message


@with_hooks
async def test_a_patch_that_does_not_fit_is_an_error_whatever_the_policy(server: Hooks) -> None:
    server.add(
        "m", lambda _: patch({"op": "remove", "path": "/data/x"}), mutating=True, failurePolicy="Ignore"
    )
    attributes = create()
    error = await refused(server, attributes)
    assert error.code == 500
    assert error.message.startswith("Internal error occurred: ")
    assert attributes.object == config_map()


@with_hooks
async def test_a_patch_that_makes_something_else_of_the_object_is_refused(server: Hooks) -> None:
    server.add("m", lambda _: patch({"op": "replace", "path": "/metadata", "value": 7}), mutating=True)
    error = await refused(server, create())
    assert error.code == 500


@with_hooks
async def test_a_patch_cannot_make_another_kind_of_the_object(server: Hooks) -> None:
    server.add("m", lambda _: patch({"op": "replace", "path": "/kind", "value": "Secret"}), mutating=True)
    attributes = create()
    error = await refused(server, attributes)
    assert (error.code, error.message) == (
        500,
        "Internal error occurred: a patch made v1, Kind=Secret of an object of v1, Kind=ConfigMap",
    )
    assert attributes.object == config_map()


DEPTH = 1000


@pytest.mark.parametrize("where", ["answer", "patch"])
def test_deep_nesting_is_survived(where: str) -> None:
    nested = b'{"a":' * DEPTH + b"1" + b"}" * DEPTH
    operation = b'[{"op":"add","path":"/data","value":' + nested + b"}]"
    answers = {"answer": lambda _: Response(200, nested), "patch": lambda _: encoded(operation)}

    @with_hooks
    async def run(server: Hooks) -> None:
        server.add("m", answers[where], mutating=True)
        assert (await refused(server, create())).code == 500

    run()


@with_hooks
async def test_nothing_can_be_patched_on_delete(server: Hooks) -> None:
    server.add("m", lambda _: patch(label("x")), mutating=True)
    error = await refused(
        server, write("configmaps", None, kind="ConfigMap", operation="DELETE", old=config_map())
    )
    assert error.message == (
        'Internal error occurred: admission webhook "m.example.com" attempted to modify the object, which is '
        "not supported for this operation"
    )


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_hangs_is_left_after_its_timeout(policy: str) -> None:
    @with_hooks
    async def run(server: Hooks) -> None:
        forever = asyncio.Event()

        async def hang(_: Object) -> Object:
            await forever.wait()
            return {}

        server.add("v", hang, timeoutSeconds=1, failurePolicy=policy)
        if policy == "Ignore":
            await server.write(create())
            return
        error = await refused(server, create())
        assert error.message == (
            'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: Post '
            f'"https://localhost:{server.port}/v?timeout=1s": context deadline exceeded'
        )

    run()


@with_hooks
async def test_a_huge_answer_is_not_collected(server: Hooks) -> None:
    server.add("v", lambda _: Response(200, [b" " * (1 << 20)] * 16))
    error = await refused(server, create())
    assert error.code == 500
    assert "is larger than" in error.message


@with_hooks
async def test_a_loop_through_a_webhook_is_bounded(server: Hooks) -> None:
    """A webhook that writes what it is asked about: every level waits for the next until time is up."""
    open_calls: list[int] = [0]
    most, over = 0, False
    quiet = asyncio.Event()

    async def write_again(_: Object) -> Object:
        nonlocal most
        open_calls[0] += 1
        most = max(most, open_calls[0])
        try:
            if not over:
                await server.write(create())
        finally:
            open_calls[0] -= 1
            if over and not open_calls[0]:
                quiet.set()
        return {}

    server.add("v", write_again, timeoutSeconds=1)
    error = await refused(server, create())
    assert error.code == 500
    assert most == CONCURRENT_CALLS
    over = True
    await quiet.wait()


@with_hooks
async def test_only_the_configured_authority_is_trusted(server: Hooks) -> None:
    client = {
        "url": f"https://localhost:{server.port}/v",
        "caBundle": ca_bundle(StoredAuthority.make("other")),
    }
    server.add("v", allow, clientConfig=client)
    error = await refused(server, create())
    assert error.message.endswith(
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )
    assert server.seen == []


@with_hooks
async def test_the_certificate_must_be_for_the_service(server: Hooks) -> None:
    server.stored.add("", "services", "other")
    service = {"service": {"namespace": "system", "name": "other", "path": "/v", "port": 443}}
    server.clients._resolver.resolve = lambda *_: ("127.0.0.1", server.port)  # type: ignore[method-assign]
    server.add("v", allow, clientConfig={**service, "caBundle": ca_bundle()})
    error = await refused(server, create())
    assert "tls: failed to verify certificate" in error.message
    assert server.seen == []


@with_hooks
async def test_a_service_that_is_not_there(server: Hooks) -> None:
    service = {"service": {"namespace": "system", "name": "gone", "path": "/v", "port": 443}}
    server.add("v", allow, clientConfig=service)
    error = await refused(server, create())
    assert error.message == (
        'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: Post '
        '"https://gone.system.svc:443/v?timeout=10s": service "gone" not found'
    )


@with_hooks
async def test_nobody_listens(server: Hooks) -> None:
    server.add("v", allow, clientConfig={"url": "https://127.0.0.1:1/v"})
    error = await refused(server, create())
    assert error.message.endswith("dial tcp 127.0.0.1:1: connect: connection refused")


@with_hooks
async def test_calls_are_counted(server: Hooks) -> None:
    server.add("v", lambda r: {"allowed": r["name"] == "a"})
    await server.write(create())
    await refused(server, create(name="b"))
    assert dict(server.metrics.requests) == {
        ("v.example.com", "validating", "CREATE", 200, False): 1,
        ("v.example.com", "validating", "CREATE", 400, True): 1,
    }


@with_hooks
async def test_configurations_are_read_again_only_after_a_change(server: Hooks) -> None:
    assert server.validating.validate(create()) is None
    server.stored.add(
        "admissionregistration.k8s.io", "validatingwebhookconfigurations", "v", webhooks=[{"name": "v"}]
    )
    assert server.validating.validate(create()) is None
    server.validating.webhooks.invalidate()
    assert len(server.validating.webhooks.get()) == 1
