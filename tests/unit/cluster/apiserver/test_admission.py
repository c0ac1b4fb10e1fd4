"""Built-in admission plugins seen by a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.api import PATIENCE_S, ApiClient, Object, config_map, with_api
from tests.support.waiting import until

CORE = "/api/v1/namespaces/default"
PODS = f"{CORE}/pods"


def pod(name: str = "a", **spec: Any) -> Object:
    containers = [{"name": "c", "image": "nginx"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


@with_api
async def test_limit_ranges_fill_in_and_refuse(client: ApiClient) -> None:
    limits = [{"type": "Container", "default": {"cpu": "200m"}, "max": {"cpu": "1"}}]
    await client.ok("POST", f"{CORE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
    made = await client.ok("POST", PODS, pod())
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "200m"},
        "requests": {"cpu": "200m"},
    }
    assert "kubernetes.io/limit-ranger" in made["metadata"]["annotations"]
    large = [{"name": "c", "image": "nginx", "resources": {"limits": {"cpu": "2"}}}]
    code, answer = await client.ask("POST", PODS, pod("b", containers=large))
    assert (code, answer["message"]) == (
        403,
        'pods "b" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    )


@with_api
async def test_pods_run_as_an_account_with_a_token(client: ApiClient) -> None:
    account = {"metadata": {"name": "worker"}, "imagePullSecrets": [{"name": "registry"}]}
    await client.ok("POST", f"{CORE}/serviceaccounts", account)
    made = await client.ok("POST", PODS, pod(serviceAccountName="worker"))
    spec = made["spec"]
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    (volume,) = spec["volumes"]
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert volume["projected"]["defaultMode"] == 420
    code, answer = await client.ask("POST", PODS, pod("b", serviceAccountName="nobody"))
    assert (code, answer["message"]) == (
        403,
        'pods "b" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" '
        "not found",
    )


@with_api
async def test_pod_security_enforces_and_warns(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod(hostNetwork=True))
    namespace = "/api/v1/namespaces/default"
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    change = {"metadata": {"labels": labels}}
    answer = await client.raw("PATCH", namespace, change, {"content-type": "application/merge-patch+json"})
    assert answer.status == 200
    warnings = answer.headers.get_all("warning")
    assert [warning.split('"', 1)[1] for warning in warnings] == [
        'existing pods in namespace \\"default\\" violate the new PodSecurity enforce level '
        '\\"baseline:latest\\""',
        'a: host namespaces"',
    ]
    code, refused = await client.ask("POST", PODS, pod("b", hostNetwork=True))
    assert (code, refused["message"]) == (
        403,
        'pods "b" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    )
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(hostNetwork=True)["spec"]}
    deployment = {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    made = await client.raw("POST", "/apis/apps/v1/namespaces/default/deployments", deployment)
    assert made.status == 201
    (warning,) = made.headers.get_all("warning")
    assert "would violate PodSecurity" in warning
    code, invalid = await client.patch(
        namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "x"}}}
    )
    assert (code, invalid["reason"]) == (422, "Invalid")


@with_api
async def test_runtime_classes_add_their_overhead(client: ApiClient) -> None:
    runtime = {"metadata": {"name": "kata"}, "handler": "kata", "overhead": {"podFixed": {"cpu": "250m"}}}
    await client.ok("POST", "/apis/node.k8s.io/v1/runtimeclasses", runtime)
    made = await client.ok("POST", PODS, pod(runtimeClassName="kata"))
    assert made["spec"]["overhead"] == {"cpu": "250m"}
    code, answer = await client.ask("POST", PODS, pod("b", runtimeClassName="x"))
    assert (code, answer["message"]) == (
        403,
        'pods "b" is forbidden: pod rejected: RuntimeClass "x" not found',
    )


# --- Quota


async def create_quota(client: ApiClient, **hard: str) -> None:
    """A quota whose usage has been counted."""
    spec = {"hard": {name.replace("_", "/"): amount for name, amount in hard.items()}}
    await client.ok("POST", f"{CORE}/resourcequotas", {"metadata": {"name": "q"}, "spec": spec})
    await quota_shows(client, lambda status: status.get("hard") == spec["hard"])


async def quota_shows(client: ApiClient, expected: Callable[[Object], bool]) -> None:
    async def shows() -> bool:
        return expected((await client.ok("GET", f"{CORE}/resourcequotas/q"))["status"])

    await until(shows, PATIENCE_S)


@with_api
async def test_parallel_creates_stop_at_the_limit(client: ApiClient) -> None:
    await create_quota(client, count_configmaps="7")
    answers = await asyncio.gather(
        *(client.ask("POST", f"{CORE}/configmaps", config_map(f"c{number}")) for number in range(30))
    )
    assert sorted(code for code, _ in answers) == [201] * 7 + [403] * 23
    refused = next(answer for code, answer in answers if code == 403)
    assert refused["message"].endswith(
        "is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=7, "
        "limited: count/configmaps=7"
    )
    quota = await client.ok("GET", f"{CORE}/resourcequotas/q")
    assert quota["status"] == {"hard": {"count/configmaps": "7"}, "used": {"count/configmaps": "7"}}
    owners = [(entry["manager"], entry.get("subresource")) for entry in quota["metadata"]["managedFields"]]
    assert ("kube-apiserver", "status") in owners


@with_api
async def test_a_recount_after_deletes_makes_room(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod())
    await create_quota(client, pods="1")
    assert (await client.ask("POST", PODS, pod("b")))[0] == 403
    await client.ok("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
    await quota_shows(client, lambda status: status["used"] == {"pods": "0"})
    await client.ok("POST", PODS, pod("b"))


# --- Policies


async def forbid_deletions(client: ApiClient) -> None:
    """Each says the options it was asked for with."""
    group = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
    told = "'grace ' + string(request.options.?gracePeriodSeconds.orValue(-1))"
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false", "messageExpression": told}],
    }
    named = {"metadata": {"name": "p"}}
    await client.ok("POST", f"{group}ies", {**named, "spec": spec})
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    await client.ok("POST", f"{group}ybindings", {**named, "spec": bound})


DELETIONS: dict[str, tuple[str, Object | None, str, str]] = {
    "one": ("/c", None, "c", "grace -1"),
    "with options in the query": ("/c?gracePeriodSeconds=7", None, "c", "grace 7"),
    "with options in the body": ("/c", {"gracePeriodSeconds": 8}, "c", "grace 8"),
    "a collection has no name": ("", None, "Unknown", "grace -1"),
}


@pytest.mark.parametrize(("path", "body", "name", "told"), DELETIONS.values(), ids=DELETIONS)
def test_deletions_are_admitted_with_their_options(
    path: str, body: Object | None, name: str, told: str
) -> None:
    @with_api
    async def run(client: ApiClient) -> None:
        await forbid_deletions(client)
        await client.ok("POST", f"{CORE}/configmaps", config_map("c"))
        code, status = await client.ask("DELETE", f"{CORE}/configmaps{path}", body)
        assert code == 422
        assert status["message"] == (
            f"configmaps \"{name}\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: {told}"
        )

    run()
