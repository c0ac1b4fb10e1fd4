"""Manifests, the chart and the files for Prometheus and Grafana: they agree, and they are taken by the API."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from steersman.cli.failure import CommandFailed
from steersman.cli.highlander import highlander
from steersman.highlander.chart import chart
from steersman.highlander.config import load
from steersman.highlander.manifests import Deployed, manifests
from steersman.highlander.metrics import HighlanderMetrics
from tests.support.api import ApiClient, with_api
from tests.support.helm import rendered
from tests.support.highlander import lively

Object = dict[str, Any]

DEPLOY = Path(__file__).parents[3] / "deploy" / "highlander"
CHART = chart()
CONFIG = """
tenant: shop
namespace: shop
storageType: lease
workloads:
  processes:
  - {name: ledger, image: app, namespace: books}
"""


def made(tmp_path: Path, text: str, deployed: Deployed | None = None) -> list[Object]:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    return manifests(text, load(file, environment={}).tenants, deployed)


def named(objects: list[Object]) -> list[str]:
    return [
        f"{one['kind']} {one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in objects
    ]


def test_permissions_are_no_wider_than_the_configuration(tmp_path: Path) -> None:
    objects = made(tmp_path, CONFIG)
    roles = {one["metadata"]["namespace"]: one["rules"] for one in objects if one["kind"] == "Role"}
    assert set(roles) == {"shop", "books"}
    assert not [one for one in objects if one["kind"].startswith("ClusterRole")]
    assert all("*" not in (*rule["verbs"], *rule["resources"]) for rules in roles.values() for rule in rules)
    leases = [rule for rule in roles["shop"] if "leases" in rule["resources"]]
    assert [(rule["verbs"], rule.get("resourceNames")) for rule in leases] == [
        (["create"], None),
        (["get", "update"], ["highlander-shop", "highlander-shop-failback"]),
    ]
    assert not [rule for rule in roles["books"] if {"leases", "configmaps"} & set(rule["resources"])]
    assert not [rule for rules in roles.values() for rule in rules if "secrets" in rule["resources"]]


def test_the_command_prints_them(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    arguments = "--image=r/steersman:1 --name=hl --namespace=ops --replicas=3 --secret=keys --fencing "
    arguments += "--no-network-policy --service-monitor --monitoring-namespace=watch"
    deployed = Deployed(
        image="r/steersman:1",
        name="hl",
        namespace="ops",
        replicas=3,
        secret="keys",
        fencing=True,
        network_policy=False,
        service_monitor=True,
        monitoring_namespace="watch",
    )
    asked = ["manifests", "--config", str(file), *arguments.split()]
    answer = CliRunner().invoke(highlander, asked)
    assert answer.exit_code == 0, answer.output
    wanted = made(tmp_path, CONFIG, deployed)
    assert list(yaml.safe_load_all(answer.output)) == wanted
    assert "    storageType: lease\n" in answer.output
    answer = CliRunner().invoke(highlander, [*asked, "--output=json"])
    assert json.loads(answer.output) == {"apiVersion": "v1", "kind": "List", "items": wanted}


def test_one_of_several_tenants_may_have_controllers_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("storageType: lease\ntenants: [{tenant: a, namespace: a}, {tenant: b, namespace: b}]\n")
    answer = CliRunner().invoke(highlander, ["manifests", "--config", str(file), "--tenant=b"])
    objects = list(yaml.safe_load_all(answer.output))
    assert [one["metadata"]["namespace"] for one in objects if one["kind"] == "Role"] == ["b"]
    (deployment,) = [one for one in objects if one["kind"] == "Deployment"]
    assert deployment["metadata"]["name"] == "highlander-b"
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "HIGHLANDER_TENANT", "value": "b"} in container["env"]


@pytest.mark.parametrize(
    ("text", "arguments", "problem"),
    [
        ("storageType: raft\n", [], "raft.service is needed"),
        ("storageType: raft\nraft: {service: hl}\n", ["--name=hl"], "raft.service: hl is"),
        ("storageType: raft\ntenants: [{tenant: a}, {tenant: b}]\n", [], "choose it with --tenant"),
        ("tenants: [{tenant: a}]\n", ["--tenant=b"], "there is no tenant 'b'"),
        ("prot: 1\n", [], "prot: there is no such key"),
    ],
    ids=[
        "raft without a service",
        "raft with a Service that is taken",
        "raft and two tenants",
        "no such tenant",
        "a wrong file",
    ],
)
def test_what_cannot_be_deployed_is_told(
    tmp_path: Path, text: str, arguments: list[str], problem: str
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    answer = CliRunner().invoke(highlander, ["manifests", "--config", str(file), *arguments])
    assert isinstance(answer.exception, CommandFailed)
    assert problem in str(answer.exception)


RAFT = """
tenant: shop
namespace: shop
storageType: raft
raft: {service: nodes, storage: /var/lib/raft, tls: /etc/raft-tls}
"""


def test_controllers_that_keep_the_lock_have_names_and_disks(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(RAFT)
    answer = CliRunner().invoke(highlander, ["manifests", "--config", str(file)])
    objects = list(yaml.safe_load_all(answer.output))
    assert {"Service highlander/nodes", "StatefulSet highlander/highlander"} <= set(named(objects))
    assert not [one for one in objects if one["kind"] == "Deployment"]
    (controllers,) = [one["spec"] for one in objects if one["kind"] == "StatefulSet"]
    assert (controllers["serviceName"], controllers["replicas"]) == ("nodes", 3)
    pod = controllers["template"]["spec"]
    mounts = {one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
    assert mounts == {"/etc/highlander", "/etc/raft-tls", "/var/lib/raft"}
    assert [one["metadata"]["name"] for one in controllers["volumeClaimTemplates"]] == ["raft"]
    assert pod["volumes"][-1]["secret"] == {"secretName": "highlander-raft-tls"}
    (own,) = [
        one for one in objects if one["kind"] == "Role" and one["metadata"]["namespace"] == "highlander"
    ]
    assert [(rule["resources"], rule["verbs"], rule["resourceNames"]) for rule in own["rules"]] == [
        (["statefulsets"], ["get"], ["highlander"])
    ]


def test_custom_resources_need_permission_everywhere(tmp_path: Path) -> None:
    objects = made(tmp_path, CONFIG + "customResources: true\n")
    assert "ClusterRole /highlander" in named(objects)
    (role,) = [one for one in objects if one["kind"] == "Role"]
    assert {resource for rule in role["rules"] for resource in rule["resources"]} == {"configmaps", "leases"}


CASES: dict[str, tuple[str, Deployed, Object]] = {
    "as it comes": ("", Deployed(), {}),
    "lease and monitor": (
        "storageType: lease\n",
        Deployed(
            name="hl",
            namespace="ops",
            service_monitor=True,
            network_policy=False,
            fencing=True,
            secret="keys",
            replicas=3,
            image="r/steersman:1",
        ),
        {
            "config": {"storageType": "lease"},
            "rbac": {"leases": True},
            "serviceMonitor": True,
            "networkPolicy": False,
            "fencing": True,
            "secret": "keys",
            "replicas": 3,
            "image": "r/steersman:1",
        },
    ),
    "custom resources": (
        "customResources: true\n",
        Deployed(),
        {"config": {"customResources": True}, "rbac": {"customResources": True}},
    ),
    "raft": (
        "namespace: shop\nstorageType: raft\nraft: {service: nodes, storage: /disk, tls: /certificates}\n",
        Deployed(replicas=3),
        {
            "config": {
                "namespace": "shop",
                "storageType": "raft",
                "raft": {"service": "nodes", "storage": "/disk", "tls": "/certificates"},
            }
        },
    ),
    "raft beside its workloads, in memory": (
        "namespace: shop\nstorageType: raft\nraft: {service: nodes}\n",
        Deployed(namespace="shop", replicas=5),
        {
            "config": {"namespace": "shop", "storageType": "raft", "raft": {"service": "nodes"}},
            "replicas": 5,
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_chart_makes_the_same_objects(tmp_path: Path, case: str) -> None:
    text, deployed, values = CASES[case]
    # Helm makes the namespace if it is told to, and has definitions in a folder of their own.
    elsewhere = ("CustomResourceDefinition", "Namespace")
    own = [one for one in made(tmp_path, text, deployed) if one["kind"] not in elsewhere]
    charted = rendered(CHART, deployed.name, deployed.namespace, values)
    key = lambda one: [one["kind"], *(one["metadata"].get(part, "") for part in ("namespace", "name"))]  # noqa: E731
    for mine, theirs in zip(sorted(own, key=key), sorted(charted, key=key), strict=True):
        if mine["kind"] == "ConfigMap":
            assert list(mine.pop("data")) == list(theirs.pop("data")) == ["config.yaml"]
        assert theirs == mine


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({}, "config.raft.service is needed"),
        ({"raft": {"service": "hl"}}, "config.raft.service: hl is the Service of their API"),
        ({"raft": {"service": "nodes"}, "tenants": [{"tenant": "a"}, {"tenant": "b"}]}, "serve one tenant"),
    ],
    ids=["without a service", "with a Service that is taken", "two tenants"],
)
def test_the_chart_refuses_raft_as_the_command_does(config: Object, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        rendered(CHART, "hl", "ops", {"config": {"storageType": "raft", **config}})


def test_the_charts_configuration_is_a_good_one(tmp_path: Path) -> None:
    (config_map,) = [one for one in rendered(CHART, "hl", "ops") if one["kind"] == "ConfigMap"]
    file = tmp_path / "config.yaml"
    file.write_text(config_map["data"]["config.yaml"])
    assert load(file, environment={}).tenants[0].redis.addr == "redis:6379"


VALUES: list[tuple[str, Object, bool]] = [
    ("as they come", {}, True),
    ("a configuration", {"config": {"workloads": {"processes": [{"name": "a", "image": "b"}]}}}, True),
    ("an unknown value", {"replica": 2}, False),
    ("a wrong type", {"replicas": "two"}, False),
    ("an unknown key of the configuration", {"config": {"storage": "redis"}}, False),
    ("a wrong storage", {"config": {"storageType": "etcd"}}, False),
]


@pytest.mark.parametrize("values, good", [case[1:] for case in VALUES], ids=[case[0] for case in VALUES])
def test_values_are_checked(values: Object, good: bool) -> None:
    schema = json.loads(CHART["values.schema.json"])
    given = {**yaml.safe_load(CHART["values.yaml"]), **values}
    assert jsonschema_rs.validator_for(schema).is_valid(given) is good


def test_every_value_is_described() -> None:
    schema = json.loads(CHART["values.schema.json"])["properties"]
    assert set(yaml.safe_load(CHART["values.yaml"])) == set(schema) - {"global"}


_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
}


def test_a_cluster_takes_them(tmp_path: Path) -> None:
    wanted = made(tmp_path, CONFIG + "customResources: true\n", Deployed(fencing=True))
    raft = made(tmp_path, RAFT, Deployed(name="keepers"))
    wanted += [one for one in raft if one["kind"] in ("StatefulSet", "Service", "NetworkPolicy", "Role")]
    config = yaml.safe_load(RAFT) | {"namespace": "books"}
    everything = [
        *wanted,
        *rendered(CHART, "hl", "highlander", {"fencing": True}),
        *rendered(CHART, "kept", "shop", {"config": config}),
    ]

    @with_api
    async def check(client: ApiClient) -> None:
        for name in ("shop", "books"):
            await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for one in everything:
            path = _PATHS[one["kind"]].format(one["metadata"].get("namespace", ""))
            answer = await client.raw("POST", f"{path}?fieldValidation=Strict", one)
            assert answer.status == 201, answer.content
            assert not answer.headers.get_all("warning")

    check()


def metric_names() -> set[str]:
    board = lively().board
    board.observe("db_latency_seconds", 1.0, operation="renew")
    text, _ = HighlanderMetrics({"default": board}).render()
    found = set()
    for family in text_string_to_metric_families(text.decode()):
        found |= {sample.name for sample in family.samples}
        found |= {f"{family.name}_total"} if family.type == "counter" else set()
        if family.type == "histogram":
            found |= {f"{family.name}_{part}" for part in ("bucket", "count", "sum")}
    return found


@pytest.mark.parametrize("file", ["alerts.yaml", "grafana.json"])
def test_every_metric_that_is_asked_for_exists(file: str) -> None:
    asked = set(re.findall(r"k8_highlander_\w+", (DEPLOY / file).read_text()))
    assert len(asked) > 5
    assert asked - metric_names() == set()


def test_alerts_have_what_people_need() -> None:
    (group,) = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
    alerts = [rule for rule in group["rules"] if "alert" in rule]
    assert len({rule["alert"] for rule in alerts}) == len(alerts)
    for rule in alerts:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"].keys() == {"summary", "description"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (package prometheus)")
def test_promtool_takes_the_rules_and_the_dashboards_queries(tmp_path: Path) -> None:
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [one["expr"] for one in dashboard["annotations"]["list"]]
    rules = [{"record": f"query:number:{number}", "expr": query} for number, query in enumerate(queries)]
    own = tmp_path / "queries.yaml"
    own.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    checked = subprocess.run(
        ["promtool", "check", "rules", DEPLOY / "alerts.yaml", own],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_panels_do_not_overlap() -> None:
    panels = json.loads((DEPLOY / "grafana.json").read_text())["panels"]
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        grid = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(grid["x"], grid["x"] + grid["w"])
            for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert not cells & taken, panel["title"]
        assert grid["x"] + grid["w"] <= 24
        taken |= cells
