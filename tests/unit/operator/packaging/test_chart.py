"""The Helm chart: rendered with its own values it says what the manifests say, and values change it."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
import yaml

from steersman.election import Lease
from steersman.objects.builders import ConfigMap
from steersman.operator import Operator
from steersman.operator.packaging import Engine, Release, manifests, take_part
from steersman.operator.packaging.chart import MARKED_NAME, MARKED_NAMESPACE, chart
from tests.support.helm import rendered as rendered_by_helm

from .things import Tea, working

Object = dict[str, Any]
IMAGE = "registry.example.com:5000/tea:1.2"


def elected() -> Operator[Tea]:
    return working(Tea).owns(ConfigMap).with_leader_election(Lease("tea"))


def alone() -> Operator[Tea]:
    return working(Tea)


def release(operator: Operator[Any], name: str, namespace: str, engine: Engine | None = None) -> Release:
    chosen = engine is not None and take_part([operator], engine, name=name, namespace=namespace)
    command = ("steer", "run", "tea", "--name", name)
    crds = [Tea.crd()]
    return Release([operator], name, namespace, IMAGE, command, crds=crds, chosen_election=chosen)


def charted(operator: Operator[Any], engine: Engine | None = None) -> dict[str, str]:
    marked = release(operator, MARKED_NAME, MARKED_NAMESPACE, engine)
    return chart(marked, version="0.1.0", app_version="1.2")


def rendered(files: dict[str, str], values: Object | None = None) -> list[Object]:
    return rendered_by_helm(files, "brewer", "kitchen", values)


def _over(values: Object, other: Object) -> Object:
    for name, value in other.items():
        values[name] = _over(values[name], value) if isinstance(values.get(name), dict) and value else value
    return values


def by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


@pytest.mark.parametrize(
    ("operator", "engine"),
    [(alone, None), (elected, None), (alone, Engine.RAFT), (alone, Engine.REDIS)],
    ids=["alone", "lease", "raft", "redis"],
)
def test_it_says_what_the_manifests_say(operator: Any, engine: Engine | None) -> None:
    found = by_name(rendered(charted(operator(), engine)))
    wanted = by_name(manifests(release(operator(), "brewer", "kitchen", engine)))
    for name in [name for name in wanted if name[0] in ("Namespace", "CustomResourceDefinition")]:
        del wanted[name]
    for each in found.values():
        if each["kind"] in ("Deployment", "StatefulSet"):
            [container] = each["spec"]["template"]["spec"]["containers"]
            assert container.pop("imagePullPolicy") == "IfNotPresent"
    assert found == wanted


def test_definitions_are_not_templates() -> None:
    files = charted(elected())
    assert yaml.safe_load(files["crds/teas.example.com.yaml"]) == Tea.crd()


def test_values_change_the_pods() -> None:
    values: Object = {
        "image": {"tag": ""},
        "replicas": 5,
        "resources": {"limits": {"memory": "1Gi"}},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "podAnnotations": {"a": "b"},
        "priorityClassName": "high",
        "serviceAccount": {"name": "given", "create": False},
    }
    found = by_name(rendered(charted(elected()), values))
    deployment = found["Deployment", "brewer"]
    pod = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["replicas"] == 5
    assert pod["containers"][0]["image"] == "registry.example.com:5000/tea:1.2"
    assert pod["containers"][0]["resources"] == {
        "limits": {"memory": "1Gi"},
        "requests": {"cpu": "50m", "memory": "128Mi"},
    }
    assert (pod["nodeSelector"], pod["tolerations"]) == (values["nodeSelector"], values["tolerations"])
    assert (pod["serviceAccountName"], pod["priorityClassName"]) == ("given", "high")
    assert deployment["spec"]["template"]["metadata"]["annotations"] == {"a": "b"}
    assert found["RoleBinding", "brewer"]["subjects"][0]["name"] == "given"
    assert not [name for name in found if name[0] == "ServiceAccount"]


@pytest.mark.parametrize(
    ("values", "gone"),
    [
        ({"rbac": {"create": False}}, {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}),
        ({"metrics": {"enabled": False}}, {"Service"}),
        ({"ha": {"podDisruptionBudget": False}}, {"PodDisruptionBudget"}),
    ],
    ids=["rbac", "metrics", "budget"],
)
def test_what_can_be_left_out(values: Object, gone: set[str]) -> None:
    files = charted(elected())
    all_kinds = {each["kind"] for each in rendered(files)}
    assert all_kinds - {each["kind"] for each in rendered(files, values)} == gone


def test_fencing_can_be_turned_on() -> None:
    kinds = [each["kind"] for each in rendered(charted(elected()), {"ha": {"fencing": True}})]
    assert {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} <= set(kinds)


def test_the_schema_takes_its_own_values_and_no_others() -> None:
    files = charted(alone())
    schema = json.loads(files["values.schema.json"])
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    checks = jsonschema_rs.validator_for(schema)
    values = yaml.safe_load(files["values.yaml"])
    assert checks.is_valid(values)
    for wrong in ({"replicas": 2}, {"replicaCount": 1}, {"image": {"pullPolicy": "Sometimes"}}):
        assert not checks.is_valid(_over(deepcopy(values), wrong)), wrong


def test_the_same_operators_give_the_same_bytes() -> None:
    assert charted(elected()) == charted(elected())
