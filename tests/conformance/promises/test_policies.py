"""Promises about admission policies."""

from __future__ import annotations

from typing import Any

from tests.support.api import ApiClient
from tests.support.manifests import deployment

from .keeping import NAMESPACE, Collection, Object, promise

ADMISSION = "admissionregistration.k8s.io/v1"
MARK = {"e2e-unique": "true"}


async def _in_force(client: ApiClient, kind: str, spec: Object, **binding: Any) -> None:
    """A policy about the deployments of the test's namespace, and its binding."""
    await Collection(client, "v1", "namespaces").patch(NAMESPACE, {"metadata": {"labels": MARK}})
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
    selector = {"namespaceSelector": {"matchLabels": MARK}}
    constraints = {**selector, "resourceRules": [{"operations": ["CREATE", "UPDATE"], **rule}]}
    policy = {"metadata": {"name": "policy.example.com"}, "spec": {"matchConstraints": constraints, **spec}}
    await Collection(client, ADMISSION, f"{kind}admissionpolicies").create(policy)
    bound = {"policyName": "policy.example.com", "matchResources": selector, **binding}
    await Collection(client, ADMISSION, f"{kind}admissionpolicybindings").create(
        {"metadata": {"name": "binding.example.com"}, "spec": bound}
    )


async def _validates(client: ApiClient, good: int, spec: Object) -> Object:
    """One replica is refused, `good` are not, and replica sets are nobody's business. The refusal."""
    await _in_force(client, "validating", spec, validationActions=["Deny"])
    deployments = Collection(client, "apps/v1", "deployments", NAMESPACE)
    status = await deployments.refused(deployment("marker-deployment", 1), 422)
    await deployments.create(deployment("replicated", good))
    one = deployment("non-replicated", 1)
    await Collection(client, "apps/v1", "replicasets", NAMESPACE).create({**one, "kind": "ReplicaSet"})
    return status


@promise("ValidatingAdmissionPolicy should validate against a Deployment")
async def test_a_policy_refuses(client: ApiClient) -> None:
    enough = {
        "expression": "object.spec.replicas > 1",
        "messageExpression": "'wants replicas > 1, got ' + object.spec.replicas",
    }
    here = {
        "expression": f"namespaceObject.metadata.name == '{NAMESPACE}'",
        "message": "Internal error! Other namespace should not be allowed.",
    }
    status = await _validates(client, 2, {"validations": [enough, here]})
    # The expression for the message adds a number to a text, which fails; the expression itself is shown.
    assert "failed expression: object.spec.replicas > 1" in status["message"]


@promise("ValidatingAdmissionPolicy should allow expressions to refer variables.")
async def test_a_policy_has_variables(client: ApiClient) -> None:
    variables = [
        {"name": "replicas", "expression": "object.spec.replicas"},
        {"name": "oddReplicas", "expression": "variables.replicas % 2 == 1"},
    ]
    validations = [{"expression": "variables.replicas > 1"}, {"expression": "variables.oddReplicas"}]
    status = await _validates(client, 3, {"variables": variables, "validations": validations})
    assert "failed expression: variables.replicas > 1" in status["message"]


async def _mutates(client: ApiClient, expression: str) -> Object:
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    await _in_force(client, "mutating", {"reinvocationPolicy": "Never", "mutations": [mutation]})
    deployments = Collection(client, "apps/v1", "deployments", NAMESPACE)
    return await deployments.create(deployment("marker-deployment", 1))


@promise("MutatingAdmissionPolicy should mutate a Deployment")
async def test_a_policy_changes_a_number(client: ApiClient) -> None:
    made = await _mutates(client, "Object{spec: Object.spec{replicas: 1337}}")
    assert made["spec"]["replicas"] == 1337


@promise("MutatingAdmissionPolicy should mutate a Deployment with annotations")
async def test_a_policy_adds_an_annotation(client: ApiClient) -> None:
    expression = """
        Object{
            metadata: Object.metadata{
                annotations: {
                    "mutated-by": "admission-policy"
                }
            }
        }"""
    made = await _mutates(client, expression)
    assert made["metadata"]["annotations"]["mutated-by"] == "admission-policy"
