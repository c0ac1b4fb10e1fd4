"""What validating admission policies show about the types in their expressions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.api import PATIENCE_S, ApiClient, api, with_api
from tests.support.waiting import until

Object = dict[str, Any]

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def rule(plural: str = "deployments", group: str = "apps", version: str = "v1") -> Object:
    return {"operations": ["CREATE"], "apiGroups": [group], "apiVersions": [version], "resources": [plural]}


def policy(*expressions: str, rules: list[Object] | None = None, **spec: Any) -> Object:
    validations = [{"expression": expression} for expression in expressions]
    constraints = {"resourceRules": rules or [rule()]}
    return {
        "metadata": {"name": "p.example.com"},
        "spec": {"matchConstraints": constraints, "validations": validations, **spec},
    }


async def checked(client: ApiClient, generation: int = 1) -> Object:
    """The status, when this generation has been looked at."""

    async def looked_at() -> Object | None:
        found = await client.ok("GET", f"{POLICIES}/p.example.com")
        return found if found["status"].get("observedGeneration") == generation else None

    found: Object = await until(looked_at, PATIENCE_S)
    return found


async def warnings(client: ApiClient, given: Object) -> dict[str, str]:
    await client.ok("POST", POLICIES, given)
    checking = (await checked(client))["status"]["typeChecking"]
    return {each["fieldRef"]: each["warning"] for each in checking.get("expressionWarnings", ())}


@with_api
async def test_a_policy_that_fits_shows_that_it_was_looked_at(client: ApiClient) -> None:
    await client.ok("POST", POLICIES, policy("object.spec.replicas > 1"))
    found = await checked(client)
    assert found["status"] == {"observedGeneration": 1, "typeChecking": {}}
    [entry] = [each for each in found["metadata"]["managedFields"] if each.get("subresource") == "status"]
    assert (entry["manager"], entry["operation"]) == ("validatingadmissionpolicy-status", "Apply")
    assert entry["fieldsV1"] == {"f:status": {"f:observedGeneration": {}, "f:typeChecking": {}}}


@with_api
async def test_types_that_do_not_fit_are_shown_in_place(client: ApiClient) -> None:
    given = policy()
    given["spec"]["validations"] = [
        {
            "expression": "object.spec.replicas > '1'",
            "messageExpression": "'wants replicas > 1, got ' + object.spec.replicas",
        }
    ]
    assert await warnings(client, given) == {
        "spec.validations[0].expression": (
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to "
            "'(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n"
        ),
        "spec.validations[0].messageExpression": (
            "apps/v1, Kind=Deployment: ERROR: <input>:1:28: found no matching overload for '_+_' applied to "
            "'(string, int)'\n | 'wants replicas > 1, got ' + object.spec.replicas\n"
            " | ...........................^\n"
        ),
    }


@with_api
async def test_every_kind_is_checked_by_itself(client: ApiClient) -> None:
    rules = [{**rule(), "resources": ["replicasets", "deployments", "deployments/scale", "*"]}]
    found = await warnings(client, policy("object.replicas > 1", rules=rules))
    problem = "ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n"
    assert found == {
        "spec.validations[0].expression": f"apps/v1, Kind=Deployment: {problem}\napps/v1, Kind=ReplicaSet: {problem}"
    }


@with_api
async def test_a_change_is_looked_at_again(client: ApiClient) -> None:
    await client.ok("POST", POLICIES, policy("object.spec.replicas > '1'"))
    assert (await checked(client))["status"]["typeChecking"]["expressionWarnings"]
    spec = {"spec": {"validations": [{"expression": "object.spec.replicas > 1"}]}}
    await client.patch(f"{POLICIES}/p.example.com", spec)
    assert (await checked(client, 2))["status"]["typeChecking"] == {}


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        pytest.param(policy("object.nothing == 1", rules=[rule("*")]), False, id="any resource"),
        pytest.param(policy("object.nothing == 1", rules=[rule(version="*")]), False, id="any version"),
        pytest.param(policy("object.nothing == 1", rules=[rule("unicorns")]), False, id="no such resource"),
        pytest.param(policy("object.nothing == 1", rules=[rule("pods", "")]), True, id="of the core group"),
        pytest.param(
            policy("variables.n > 'x'", variables=[{"name": "n", "expression": "object.spec.replicas"}]),
            True,
            id="a variable of another type",
        ),
        pytest.param(
            policy("variables.s.nothing == 1", variables=[{"name": "s", "expression": "object.spec"}]),
            False,
            id="a variable that is an object is dynamic",
        ),
        pytest.param(
            policy("variables.b == 1", variables=[{"name": "b", "expression": "object.nothing"}]),
            False,
            id="a variable that does not fit is dynamic",
        ),
        pytest.param(
            policy("params.data['x'] == 1", paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
            True,
            id="a parameter of another type",
        ),
        pytest.param(
            policy("params.x == 1", paramKind={"apiVersion": "no.example/v1", "kind": "No"}),
            False,
            id="a parameter of an unknown kind",
        ),
        pytest.param(policy("oldObject == null || oldObject.nothing == 1"), True, id="the old object"),
        pytest.param(
            policy("object.metadata.creationTimestamp > timestamp('2024-01-01T00:00:00Z')"),
            False,
            id="a time",
        ),
        pytest.param(
            policy("authorizer.group('').resource('pods').check('get').allowed()"), False, id="rights"
        ),
    ],
)
def test_what_is_warned_of(given: Object, warned: bool) -> None:
    @with_api
    async def run(client: ApiClient) -> None:
        assert bool(await warnings(client, given)) == warned

    run()


CRON_TABS = {
    "metadata": {"name": "crontabs.stable.example.com"},
    "spec": {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "replicas": {"type": "integer"},
                                    "at": {"type": "string", "format": "date-time"},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


@with_api
async def test_custom_kinds_are_checked_by_their_schemas(client: ApiClient) -> None:
    await client.ok("POST", DEFINITIONS, CRON_TABS)

    async def served() -> bool:
        return (await client.raw("GET", "/apis/stable.example.com/v1")).status == 200

    await until(served, PATIENCE_S)
    given = policy(
        "object.spec.replicas > '1'",
        "object.spec.maxRetries < 10",
        "object.spec.at < timestamp('2024-01-01T00:00:00Z') && object.metadata.labels['a'] == 'b'",
        rules=[rule("crontabs", "stable.example.com")],
    )
    found = await warnings(client, given)
    assert list(found) == ["spec.validations[0].expression", "spec.validations[1].expression"]
    first, second = found.values()
    assert "found no matching overload for '_>_' applied to '(int, string)'" in first
    assert "stable.example.com/v1, Kind=CronTab: ERROR" in second
    assert "undefined field 'maxRetries'" in second


def test_a_cluster_without_controllers_leaves_the_status_alone() -> None:
    async def body() -> None:
        async with api(controllers=()) as client:
            made = await client.ok("POST", POLICIES, policy("object.spec.replicas > '1'"))
            await client.patch(f"{POLICIES}/p.example.com", {"metadata": {"labels": {"a": "b"}}})
            found = await client.ok("GET", f"{POLICIES}/p.example.com")
            assert found["status"] == made["status"] == {}

    asyncio.run(body())
