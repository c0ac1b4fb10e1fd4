"""The manifests that fence former leaders off."""

from __future__ import annotations

from typing import Any

from steersman.objects.builders import ConfigMap, Deployment, Service
from steersman.objects.custom import CustomResource, Model
from steersman.operator import Operator, fencing_policy


class Spec(Model):
    value: str = ""


class Fenced(CustomResource, group="example.com", version="v1"):
    spec: Spec = Spec()
    status: Spec = Spec()


class Statusless(CustomResource, group="example.com", version="v1"):
    spec: Spec = Spec()


def covered(policy: dict[str, Any]) -> dict[str, list[str]]:
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    assert all(rule["operations"] == ["UPDATE"] for rule in rules)
    return {group: rule["resources"] for rule in rules for group in rule["apiGroups"]}


def test_a_policy_covers_what_its_operator_owns() -> None:
    [policy, binding] = fencing_policy([Operator(Fenced).owns(Service, Deployment, ConfigMap)])
    assert covered(policy) == {"": ["configmaps", "services"], "apps": ["deployments"]}
    assert policy["metadata"]["name"] == binding["spec"]["policyName"] == "fencing.fenceds.example.com"


def test_objects_whose_status_has_no_subresource_are_covered_themselves() -> None:
    [policy, _] = fencing_policy([Operator(Statusless)])
    assert covered(policy) == {"example.com": ["statuslesses"]}


def test_each_operator_has_a_policy_unless_it_owns_nothing() -> None:
    operators = [Operator(Fenced, name="one").owns(ConfigMap), Operator(Fenced, name="two")]
    operators.append(Operator(Fenced, name="three").owns(ConfigMap))
    names = [manifest["metadata"]["name"] for manifest in fencing_policy(operators)]
    assert names == ["fencing.one", "fencing.one", "fencing.three", "fencing.three"]
