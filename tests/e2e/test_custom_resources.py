"""kubectl with custom resources: a definition, its objects, their subresources; rights and tokens for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.kubectl import WAIT, Kubectl
from tests.support.manifests import deployment

from .widgets import definition, widget

pytestmark = pytest.mark.slow

GROUP = "shop.example.com"


@pytest.fixture(scope="module", autouse=True)
def widgets(cluster_kubectl: Kubectl) -> Iterator[None]:
    """The definition, applied as people do and gone after the tests."""
    kubectl = cluster_kubectl
    name = f"widgets.{GROUP}"
    assert kubectl.apply(definition(GROUP)).out == (
        f"customresourcedefinition.apiextensions.k8s.io/{name} created\n"
    )
    done = kubectl("wait", "crd", name, "--for=condition=Established", WAIT)
    assert done.out == f"customresourcedefinition.apiextensions.k8s.io/{name} condition met\n"
    yield
    kubectl("delete", "crd", name)
    said = kubectl.fails("get", f"widgets.{GROUP}")
    assert said == 'error: the server doesn\'t have a resource type "widgets"'


def test_discovery_knows_it(kubectl: Kubectl) -> None:
    [row] = kubectl("api-resources", f"--api-group={GROUP}").rows
    assert row == ["widgets", "wd", f"{GROUP}/v1", "true", "Widget"]


def test_apply_get_and_delete(kubectl: Kubectl) -> None:
    assert kubectl.apply(widget(GROUP, "w", 3)).out == f"widget.{GROUP}/w created\n"
    assert kubectl.apply(widget(GROUP, "w", 3)).out == f"widget.{GROUP}/w unchanged\n"
    assert kubectl("get", "wd").lines[0].split() == ["NAME", "SIZE", "COLOR"]
    assert kubectl("get", "wd").rows == [["w", "3", "blue"]]
    made = kubectl.get(f"widgets.v1.{GROUP} w")
    assert made["spec"] == {"size": 3, "color": "blue"}
    assert made["metadata"]["generation"] == 1
    assert kubectl("delete", "widget", "w").out.startswith(f'widget.{GROUP} "w" deleted')
    assert kubectl("get", "widgets").err == f"No resources found in {kubectl.namespace} namespace.\n"


def test_apply_of_a_change(kubectl: Kubectl) -> None:
    kubectl.apply(widget(GROUP, "w", 3))
    assert kubectl.apply(widget(GROUP, "w", 4)).out == f"widget.{GROUP}/w configured\n"
    changed = kubectl.get("widget w")
    assert (changed["spec"]["size"], changed["metadata"]["generation"]) == (4, 2)


def test_explain(kubectl: Kubectl) -> None:
    shown = kubectl("explain", "widget.spec").out
    assert f"GROUP:      {GROUP}\nKIND:       Widget\nVERSION:    v1\n" in shown
    assert "What is wanted." in shown
    assert "size\t<integer> -required-\n    How large it is.\n" in shown
    assert "color\t<string>\n  enum: blue, red\n" in shown


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", '{"spec":{"size":7}}'),
        ("json", '[{"op":"replace","path":"/spec/size","value":7}]'),
    ],
)
def test_patch(kubectl: Kubectl, kind: str, patch: str) -> None:
    kubectl.create(widget(GROUP, "w", 3))
    assert kubectl("patch", "widget", "w", f"--type={kind}", "-p", patch).out == f"widget.{GROUP}/w patched\n"
    assert kubectl.get("widget w")["spec"]["size"] == 7


def test_custom_resources_know_no_strategic_patch(kubectl: Kubectl) -> None:
    kubectl.create(widget(GROUP, "w"))
    said = kubectl.fails("patch", "widget", "w", "-p", '{"spec":{"size":7}}')
    assert "application/strategic-merge-patch+json is not supported" in said


def test_status_is_its_own(kubectl: Kubectl) -> None:
    kubectl.create({**widget(GROUP, "w"), "status": {"size": 9}})
    assert "status" not in kubectl.get("widget w")
    kubectl("patch", "widget", "w", "--type=merge", "--subresource=status", "-p", '{"status":{"size":1}}')
    changed = kubectl.get("widget w")
    assert (changed["status"], changed["metadata"]["generation"]) == ({"size": 1}, 1)


def test_scale(kubectl: Kubectl) -> None:
    kubectl.create(widget(GROUP, "w", 3))
    done = kubectl("scale", "widget/w", "--replicas=5", "--current-replicas=3")
    assert done.out == f"widget.{GROUP}/w scaled\n"
    assert kubectl.get("widget w")["spec"]["size"] == 5
    said = kubectl.fails("scale", "widget/w", "--replicas=100")
    assert "should be less than or equal to 99" in said


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"size": 0}, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        (
            {"color": "green"},
            '\n* spec.color: Unsupported value: "green": supported values: "blue", "red"'
            "\n* <nil>: Invalid value: null: some validation rules were not checked because the object was "
            "invalid; correct the existing errors to complete validation",
        ),
        ({"color": "red"}, "spec: Invalid value: color is for ever"),
    ],
    ids=["too small", "no such color", "rule"],
)
def test_refusals(kubectl: Kubectl, spec: dict[str, object], expected: str) -> None:
    kubectl.create(widget(GROUP, "w"))
    said = kubectl.fails("patch", "widget", "w", "--type=merge", "-p", json.dumps({"spec": spec}))
    assert said == f'The Widget "w" is invalid: {expected}'


def test_unknown_fields_are_told_and_not_kept(kubectl: Kubectl) -> None:
    said = kubectl.fails("create", "-f", "-", stdin=widget(GROUP, "w", weight=1))
    assert 'strict decoding error: unknown field "spec.weight"' in said
    kubectl("create", "--validate=false", "-f", "-", stdin=widget(GROUP, "w", weight=1))
    assert kubectl.get("widget w")["spec"] == {"size": 1, "color": "blue"}


def test_waiting_and_watching(kubectl: Kubectl) -> None:
    kubectl.create(widget(GROUP, "w"))
    process = kubectl.start("wait", "widget/w", "--for=jsonpath={.status.phase}=Done", WAIT)
    kubectl(
        "patch", "widget", "w", "--type=merge", "--subresource=status", "-p", '{"status":{"phase":"Done"}}'
    )
    out, err = process.communicate(timeout=25)
    assert (out, err) == (f"widget.{GROUP}/w condition met\n", "")


@pytest.mark.parametrize(
    ("mine", "theirs", "field"),
    [
        (widget(GROUP, "x", 3, color="red"), widget(GROUP, "x", 4, color="red"), ".spec.size"),
        (deployment("x", replicas=3), deployment("x", replicas=4), ".spec.replicas"),
    ],
    ids=["custom", "built-in"],
)
def test_applying_on_the_server_by_two_managers(
    kubectl: Kubectl, mine: dict[str, Any], theirs: dict[str, Any], field: str
) -> None:
    by = ("apply", "--server-side", "-f", "-")
    kubectl(*by, "--field-manager=one", stdin=mine)
    said = kubectl.fails(*by, "--field-manager=two", stdin=theirs)
    assert said.startswith(f'error: Apply failed with 1 conflict: conflict with "one": {field}\n')
    out = kubectl(*by, "--field-manager=two", "--force-conflicts", stdin=theirs).out
    assert out.endswith("/x serverside-applied\n")
    kept = kubectl.get(f"{mine['kind'].lower()} x", "--show-managed-fields")
    assert [entry["manager"] for entry in kept["metadata"]["managedFields"]] == ["one", "two"]


def test_lists_of_maps_are_merged_on_the_server(kubectl: Kubectl) -> None:
    for manager, port in (("one", {"name": "a", "port": 1}), ("two", {"name": "b", "port": 2})):
        manifest = widget(GROUP, "w", ports=[port])
        kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", stdin=manifest)
    ports = kubectl.get("widget w")["spec"]["ports"]
    assert [item["name"] for item in ports] == ["a", "b"]
    kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", stdin=widget(GROUP, "w"))
    assert [item["name"] for item in kubectl.get("widget w")["spec"]["ports"]] == ["b"]


def test_rights_to_custom_resources(kubectl: Kubectl) -> None:
    kubectl("create", "role", "reader", "--verb=get,list", f"--resource=widgets.{GROUP}")
    kubectl("create", "rolebinding", "reader", "--role=reader", "--user=ann")
    kubectl.create(widget(GROUP, "w"))
    assert kubectl("auth", "can-i", "list", "widgets", "--as=ann").out == "yes\n"
    assert kubectl.attempt("auth", "can-i", "delete", "widgets", "--as=ann").out == "no\n"
    assert kubectl.attempt("auth", "can-i", "update", "widgets/status", "--as=ann").out == "no\n"
    assert kubectl("get", "widgets", "--as=ann").rows == [["w", "1", "blue"]]
    assert kubectl.fails("delete", "widget", "w", "--as=ann") == (
        f'Error from server (Forbidden): widgets.{GROUP} "w" is forbidden: User "ann" cannot delete resource '
        f'"widgets" in API group "{GROUP}" in the namespace "{kubectl.namespace}"'
    )
    assert "cannot list" in kubectl.fails("get", "widgets", "--as=ben", "--as-group=dev")


def test_a_token_is_its_accounts(kubectl: Kubectl) -> None:
    kubectl("create", "serviceaccount", "robot")
    kubectl(
        "create", "rolebinding", "robot", "--clusterrole=view", f"--serviceaccount={kubectl.namespace}:robot"
    )
    token = kubectl("create", "token", "robot", "--duration=10m").out.strip()
    assert token.count(".") == 2
    me = kubectl("auth", "whoami", f"--token={token}", "-o", "json").json
    assert me["status"]["userInfo"]["username"] == f"system:serviceaccount:{kubectl.namespace}:robot"
    kubectl("get", "configmaps", f"--token={token}")
    assert "Forbidden" in kubectl.fails("get", "secrets", f"--token={token}")
    assert "forbidden" in kubectl.fails("create", "configmap", "x", f"--token={token}")
    said = kubectl.fails("get", "configmaps", f"--token={token[:-4]}AAAA")
    assert said == "error: You must be logged in to the server (Unauthorized)"


def test_kubectl_warns_of_deprecated_versions(kubectl: Kubectl) -> None:
    group = "old.example.com"
    made = definition(group)
    [new] = made["spec"]["versions"]
    made["spec"]["versions"] = [new, {**new, "name": "v1beta1", "storage": False, "deprecated": True}]
    kubectl.apply(made)
    kubectl("wait", "crd", f"widgets.{group}", "--for=condition=Established", WAIT)
    said = f"Warning: {group}/v1beta1 Widget is deprecated; use {group}/v1 Widget\n"
    assert kubectl("get", f"widgets.v1beta1.{group}").err.startswith(said)
    assert "Warning" not in kubectl("get", f"widgets.v1.{group}").err
    kubectl("delete", "crd", f"widgets.{group}")
