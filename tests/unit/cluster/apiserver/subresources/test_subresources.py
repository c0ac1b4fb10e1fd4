"""Scale, binding, eviction, and the addresses of services."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

import orjson
import pytest

from tests.support.api import ApiClient, Object, with_api
from tests.unit.cluster.apiserver.verbs.test_writes import DEPLOYMENTS, PODS, deployment, pod

SERVICES = "/api/v1/namespaces/default/services"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def service(name: str, **spec: object) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


@with_api
async def test_scale_is_read_and_written(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, deployment("d"))
    path = f"{DEPLOYMENTS}/d/scale"
    scale = await client.ok("GET", path)
    assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 1)
    scale["spec"]["replicas"] = 4
    assert (await client.ok("PUT", path, scale))["spec"]["replicas"] == 4
    parent = await client.ok("GET", f"{DEPLOYMENTS}/d")
    assert (parent["spec"]["replicas"], parent["metadata"]["generation"]) == (4, 2)
    owners = {entry.get("subresource", "") for entry in parent["metadata"]["managedFields"]}
    assert owners == {"", "scale"}
    code, status = await client.ask("PUT", path, scale)
    assert (code, status["reason"]) == (409, "Conflict")
    code, status = await client.patch(path, {"spec": {"replicas": -1}})
    assert code == 422
    assert status["details"]["kind"] == "Scale"


async def _on_scales(client: ApiClient, kind: str, spec: Object, **bound: Any) -> None:
    """A policy on scales of deployments, and its binding."""
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["*"],
        "resources": ["deployments/scale"],
    }
    group = f"/apis/admissionregistration.k8s.io/v1/{kind}admissionpolic"
    named = {"metadata": {"name": "p"}}
    matched = {"matchConstraints": {"resourceRules": [rule]}, **spec}
    await client.ok("POST", f"{group}ies", {**named, "spec": matched})
    await client.ok("POST", f"{group}ybindings", {**named, "spec": {"policyName": "p", **bound}})


@with_api
async def test_admission_sees_a_scale(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, deployment("d"))
    told = "request.kind.kind + ' ' + object.kind + ' ' + string(oldObject.spec.replicas)"
    rule = {"expression": "object.spec.replicas < 5", "messageExpression": told}
    await _on_scales(client, "validating", {"validations": [rule]}, validationActions=["Deny"])
    code, status = await client.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 9}})
    assert code == 422
    assert status["message"].endswith("denied request: Scale Scale 1")
    await client.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 4}})
    assert (await client.ok("GET", f"{DEPLOYMENTS}/d"))["spec"]["replicas"] == 4


@with_api
async def test_admission_may_change_a_scale(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, deployment("d"))
    patch = {"expression": "[JSONPatch{op: 'replace', path: '/spec/replicas', value: 3}]"}
    mutation = {"patchType": "JSONPatch", "jsonPatch": patch}
    await _on_scales(client, "mutating", {"reinvocationPolicy": "Never", "mutations": [mutation]})
    code, scale = await client.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 9}})
    assert (code, scale["spec"]["replicas"]) == (200, 3)


@with_api
async def test_a_pod_is_bound_once(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod("p"))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    await client.ok("POST", f"{PODS}/p/binding", binding)
    bound = await client.ok("GET", f"{PODS}/p")
    assert bound["spec"]["nodeName"] == "n1"
    assert [(c["type"], c["status"]) for c in bound["status"]["conditions"]] == [("PodScheduled", "True")]
    code, status = await client.ask("POST", f"{PODS}/p/binding", binding)
    assert (code, status["message"]) == (
        409,
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
    )


@pytest.mark.parametrize(
    ("binding", "code", "message"),
    [
        ({}, 500, "target.name: Required value"),
        ({"target": {"name": "n"}}, 400, "Name parameter required."),
    ],
)
def test_a_binding_without_a_pod(binding: dict[str, Any], code: int, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        answer = await client.ask("POST", PODS.replace("pods", "bindings"), binding)
        assert (answer[0], answer[1]["message"]) == (code, message)

    check()


@with_api
async def test_where_nothing_may_be_created_a_binding_is_not_looked_at(client: ApiClient) -> None:
    await client.ok(
        "POST", "/api/v1/namespaces", {"metadata": {"name": "x"}, "spec": {"finalizers": ["a/b"]}}
    )
    await client.ok("DELETE", "/api/v1/namespaces/x")
    code, status = await client.ask("POST", "/api/v1/namespaces/x/pods/p/binding", {})
    assert (code, status["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")


@with_api
async def test_scaling_warns_of_what_is_scaled(client: ApiClient) -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": pod("p")["spec"] | {"topologySpreadConstraints": [spread]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await client.ok("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    warned = []
    for replicas in (1, 2):
        change = orjson.dumps({"spec": {"replicas": replicas}})
        headers = [(b"content-type", b"application/merge-patch+json")]
        answer = await client.http.request("PATCH", f"{DEPLOYMENTS}/d/scale", headers=headers, content=change)
        warned.append(answer.headers.get_all("warning"))
    assert warned == [
        [],
        [
            '299 - "spec.template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in '
            'matching no pod"'
        ],
    ]


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("exec", 400, "pod p does not have a host assigned"),
        (
            "log?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
            422,
            'PodLogOptions "p" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be '
            "specified",
        ),
    ],
)
def test_connections_that_cannot_be_had(path: str, code: int, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await client.ok("POST", PODS, pod("p"))
        answer = await client.ask("GET", f"{PODS}/p/{path}")
        assert (answer[0], answer[1]["message"]) == (code, message)

    check()


@with_api
async def test_a_bound_pod_is_nominated_no_more(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod("p"))
    await client.patch(f"{PODS}/p/status", {"status": {"nominatedNodeName": "n2"}})
    assert (await client.ok("GET", f"{PODS}/p"))["status"]["nominatedNodeName"] == "n2"
    await client.ok(
        "POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    )
    assert "nominatedNodeName" not in (await client.ok("GET", f"{PODS}/p"))["status"]


@with_api
async def test_gated_pods_are_not_bound(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    code, status = await client.ask("POST", f"{PODS}/p/binding", binding)
    assert code == 409
    assert "schedulingGates" in status["message"]


async def _with_budget(client: ApiClient, **status: int) -> str:
    running = pod("p", nodeName="n")
    running["metadata"]["labels"] = {"app": "x"}
    await client.ok("POST", PODS, running)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await client.patch(f"{PODS}/p/status", {"status": ready})
    budget = {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    await client.ok("POST", BUDGETS, budget)
    code, answer = await client.patch(
        f"{BUDGETS}/b/status",
        {"status": {"observedGeneration": 1, "expectedPods": 1, **status}},
    )
    assert code == 200, answer
    return f"{PODS}/p/eviction"


EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}


@with_api
async def test_an_eviction_against_the_budget_is_refused(client: ApiClient) -> None:
    path = await _with_budget(client, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)
    code, status = await client.ask("POST", path, EVICTION)
    assert (code, status["reason"]) == (429, "TooManyRequests")
    assert status["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 1 healthy pods and has 1 currently",
        }
    ]
    assert "deletionTimestamp" not in (await client.ok("GET", f"{PODS}/p"))["metadata"]


@with_api
async def test_an_eviction_says_in_one_way_whether_it_is_dry(client: ApiClient) -> None:
    path = await _with_budget(client, disruptionsAllowed=1)
    options = {"deleteOptions": {"dryRun": ["Some"]}}
    code, status = await client.ask("POST", f"{path}?dryRun=All", EVICTION | options)
    words = "Non-matching dry-run options in request and content: [All] and [Some]"
    assert (code, status["message"]) == (500, words)


@with_api
async def test_who_resizes_a_pod_owns_what_was_asked_for(client: ApiClient) -> None:
    pod = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}
    await client.ok("POST", PODS, {"metadata": {"name": "r"}, "spec": {"containers": [pod]}})
    more = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}], "nodeName": "n"}
    code, resized = await client.patch(f"{PODS}/r/resize", {"spec": more}, "strategic-merge")
    assert code == 200
    entry = resized["metadata"]["managedFields"][-1]
    assert entry["subresource"] == "resize"
    wanted = {'k:{"name":"c"}': {"f:resources": {"f:requests": {"f:cpu": {}}}}}
    assert entry["fieldsV1"] == {"f:spec": {"f:containers": wanted, "f:nodeName": {}}}


@with_api
async def test_refusals_name_what_is_in_the_way(client: ApiClient) -> None:
    await client.ok(
        "POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    binding = {"metadata": {"name": "p", "uid": "other"}, "target": {"kind": "Node", "name": "n"}}
    _, status = await client.ask("POST", f"{PODS}/p/binding", binding)
    assert status["message"].startswith('Operation cannot be fulfilled on pods "p": StorageError: invalid')
    _, status = await client.ask(
        "PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", {"metadata": {}}
    )
    assert (
        status["message"]
        == "the name of the object (d based on URL) was undeterminable: name must be provided"
    )


@with_api
async def test_an_eviction_within_the_budget_uses_it_up(client: ApiClient) -> None:
    path = await _with_budget(client, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    await client.ok("POST", path, EVICTION)
    budget = await client.ok("GET", f"{BUDGETS}/b")
    assert budget["status"]["disruptionsAllowed"] == 0
    assert list(budget["status"]["disruptedPods"]) == ["p"]
    owned = {entry["manager"]: entry for entry in budget["metadata"]["managedFields"]}["kube-apiserver"]
    assert owned["subresource"] == "status"
    assert owned["fieldsV1"]["f:status"].keys() == {"f:conditions", "f:disruptedPods", "f:disruptionsAllowed"}
    dying = await client.ok("GET", f"{PODS}/p")
    assert dying["metadata"]["deletionGracePeriodSeconds"] == 30
    assert "DisruptionTarget" in {c["type"] for c in dying["status"]["conditions"]}


@with_api
async def test_an_eviction_is_told_of_a_pod_that_is_going_already(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod("p", nodeName="n"))
    await client.ok("DELETE", f"{PODS}/p")
    refused = EVICTION | {"deleteOptions": {"preconditions": {"uid": "other"}}}
    assert (await client.ask("POST", f"{PODS}/p/eviction", refused))[0] == 409
    assert not (await client.ok("GET", f"{PODS}/p"))["status"].get("conditions")
    await client.ok("POST", f"{PODS}/p/eviction", EVICTION)
    conditions = (await client.ok("GET", f"{PODS}/p"))["status"]["conditions"]
    assert [condition["type"] for condition in conditions] == ["DisruptionTarget"]


@with_api
async def test_a_node_evicts_pods_of_its_own(client: ApiClient) -> None:
    as_node = {"impersonate-user": "system:node:n1", "impersonate-group": "system:nodes"}
    for name, node in (("mine", "n1"), ("other", "n2")):
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "x"}]}
        await client.ok("POST", PODS, {"metadata": {"name": name}, "spec": spec})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction"}
    path = f"{PODS}/other/eviction"
    code, status = await client.ask("POST", path, eviction | {"metadata": {"name": "other"}}, as_node)
    assert (code, status["message"]) == (
        403,
        'pods "other" is forbidden: node n1 can only evict pods with spec.nodeName set to itself',
    )
    await client.ok("POST", f"{PODS}/mine/eviction", eviction | {"metadata": {"name": "mine"}}, as_node)


@with_api
async def test_cluster_addresses_are_unique_and_reused_after_deletion(client: ApiClient) -> None:
    created = await asyncio.gather(*(client.ok("POST", SERVICES, service(f"s{n}")) for n in range(30)))
    addresses = [each["spec"]["clusterIP"] for each in created]
    assert len(set(addresses)) == 30
    assert all(ipaddress.ip_address(each) in ipaddress.ip_network("10.96.0.0/16") for each in addresses)
    taken = service("taken", clusterIP=addresses[0])
    code, status = await client.ask("POST", SERVICES, taken)
    assert code == 422
    assert f"failed to allocate IP {addresses[0]}: provided IP is already allocated" in status["message"]
    await client.ok("DELETE", f"{SERVICES}/s0")
    assert (await client.ok("POST", SERVICES, taken))["spec"]["clusterIP"] == addresses[0]


@with_api
async def test_node_ports_come_and_go_with_the_type(client: ApiClient) -> None:
    await client.ok("POST", SERVICES, service("s", type="NodePort"))
    first = (await client.ok("GET", f"{SERVICES}/s"))["spec"]
    port = first["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    other = service("t", type="NodePort", ports=[{"port": 80, "nodePort": port}])
    code, status = await client.ask("POST", SERVICES, other)
    assert (code, status["details"]["causes"][0]["message"]) == (
        422,
        f"Invalid value: {port}: provided port is already allocated",
    )
    _, changed = await client.patch(f"{SERVICES}/s", {"spec": {"type": "ClusterIP"}})
    assert "nodePort" not in changed["spec"]["ports"][0]
    assert changed["spec"]["clusterIP"] == first["clusterIP"]
    assert (await client.ok("POST", SERVICES, other))["spec"]["ports"][0]["nodePort"] == port


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"clusterIP": "192.168.1.1"},
            "spec.clusterIPs",
            'Invalid value: ["192.168.1.1"]: failed to allocate IP 192.168.1.1: '
            "the provided network does not match the current range",
        ),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
            "spec.ports[0].nodePort",
            "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            "spec.ipFamilyPolicy",
            'Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
        ),
    ],
)
def test_impossible_services_are_refused(spec: Object, field: str, message: str) -> None:
    async def body(client: ApiClient) -> None:
        code, status = await client.ask("POST", SERVICES, service("s", **spec))
        assert code == 422
        cause = status["details"]["causes"][0]
        assert (cause["field"], cause["message"]) == (field, message)

    with_api(body)()


@with_api
async def test_a_refused_or_dry_service_leaves_its_address_free(client: ApiClient) -> None:
    asked = service("s", clusterIP="10.96.7.7")
    await client.ok("POST", f"{SERVICES}?dryRun=All", asked)
    bad = service("s", clusterIP="10.96.7.7", ports=[])
    assert (await client.ask("POST", SERVICES, bad))[0] == 422
    assert (await client.ok("POST", SERVICES, asked))["spec"]["clusterIP"] == "10.96.7.7"


@pytest.mark.parametrize(
    ("path", "code"),
    [("log", 204), ("exec", 400), ("attach", 400), ("proxy/x/y", 400), ("status/more", 404), ("nope", 404)],
)
def test_a_pod_without_a_node_cannot_be_connected_to(path: str, code: int) -> None:
    async def body(client: ApiClient) -> None:
        await client.ok("POST", PODS, pod("p"))
        answer = await client.raw("GET", f"{PODS}/p/{path}")
        assert answer.status == code

    with_api(body)()


@with_api
async def test_a_connection_cannot_be_tried_out(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod("p"))
    code, status = await client.ask("POST", f"{PODS}/p/exec?command=sh&dryRun=All")
    assert (code, status["message"]) == (400, "dryRun is not supported")


async def _add_policy(client: ApiClient, kind: str, spec: Object, **bound: Any) -> None:
    """A policy on `pods/exec`, and its binding."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/exec"]}
    group = f"/apis/admissionregistration.k8s.io/v1/{kind}admissionpolic"
    named = {"metadata": {"name": "p"}}
    matched = {"matchConstraints": {"resourceRules": [rule]}, **spec}
    await client.ok("POST", f"{group}ies", {**named, "spec": matched})
    await client.ok("POST", f"{group}ybindings", {**named, "spec": {"policyName": "p", **bound}})


async def _forbid_shells(client: ApiClient) -> None:
    rule = {"expression": "object.command[0] != 'sh'", "message": "no shells"}
    await _add_policy(client, "validating", {"validations": [rule]}, validationActions=["Deny"])


@with_api
async def test_a_policy_may_forbid_to_connect(client: ApiClient) -> None:
    await _forbid_shells(client)
    await client.ok("POST", PODS, pod("p"))
    code, status = await client.ask("POST", f"{PODS}/p/exec?command=sh&container=main")
    assert (code, "no shells" in status["message"]) == (422, True)
    code, status = await client.ask("POST", f"{PODS}/p/exec?command=ls")
    assert (code, status["message"]) == (400, "pod p does not have a host assigned")


async def _mutate_connections(client: ApiClient, kind: str, field: str, expression: str) -> None:
    mutation = {"patchType": kind, field: {"expression": expression}}
    await _add_policy(client, "mutating", {"reinvocationPolicy": "Never", "mutations": [mutation]})


@with_api
async def test_a_policy_may_change_what_is_asked_of_a_connection(client: ApiClient) -> None:
    patch = "[JSONPatch{op: 'replace', path: '/command/0', value: 'sh'}]"
    await _mutate_connections(client, "JSONPatch", "jsonPatch", patch)
    await _forbid_shells(client)
    await client.ok("POST", PODS, pod("p"))
    code, status = await client.ask("POST", f"{PODS}/p/exec?command=ls")
    assert (code, "no shells" in status["message"]) == (422, True)


@with_api
async def test_a_connection_has_no_schema_that_a_configuration_could_be_merged_by(client: ApiClient) -> None:
    configuration = "Object{container: 'other'}"
    await _mutate_connections(client, "ApplyConfiguration", "applyConfiguration", configuration)
    await client.ok("POST", PODS, pod("p"))
    code, status = await client.ask("POST", f"{PODS}/p/exec?command=ls")
    assert (code, status["message"]) == (
        403,
        "policy 'p' with binding 'p' denied request: error applying patch: failed to convert patch object to "
        "typed object: no corresponding type for /v1, Kind=PodExecOptions",
    )


@with_api
async def test_an_unreachable_node_is_said_to_be_so(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod("p", nodeName="n"))
    code, status = await client.ask("GET", f"{PODS}/p/log")
    assert (code, status["message"]) == (404, 'pods "n" not found')
    await client.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    code, status = await client.ask("GET", f"{PODS}/p/log")
    assert (code, status["reason"]) == (503, "ServiceUnavailable")
    assert (await client.ask("GET", f"{PODS}/none/log"))[0] == 404
