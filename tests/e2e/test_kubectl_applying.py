"""kubectl apply, diff and replace: manifests that change, and manifests that are wrong."""

from __future__ import annotations

import copy
import json
import shlex

import pytest

from tests.support.kubectl import Kubectl
from tests.support.manifests import config_map, deployment, pod

pytestmark = pytest.mark.slow

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    assert kubectl.apply(config_map("cm", a="1")).out == "configmap/cm created\n"
    version = kubectl.get("cm cm")["metadata"]["resourceVersion"]
    assert kubectl.apply(config_map("cm", a="1")).out == "configmap/cm unchanged\n"
    assert kubectl.get("cm cm")["metadata"]["resourceVersion"] == version
    assert kubectl.apply(config_map("cm", a="2")).out == "configmap/cm configured\n"
    applied = kubectl.get("cm cm")
    assert applied["data"] == {"a": "2"}
    assert json.loads(applied["metadata"]["annotations"][LAST_APPLIED])["data"] == {"a": "2"}


def test_apply_removes_what_was_applied_and_keeps_what_others_set(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("cm", {"mine": "1", "drop": "1"}, keep="1", drop="1"))
    kubectl("label", "cm", "cm", "theirs=1")
    kubectl("patch", "cm", "cm", "--type=merge", "-p", '{"data":{"other":"1"}}')
    kubectl.apply(config_map("cm", {"mine": "2"}, keep="2"))
    result = kubectl.get("cm cm")
    assert result["data"] == {"keep": "2", "other": "1"}
    assert result["metadata"]["labels"] == {"mine": "2", "theirs": "1"}


def test_apply_merges_lists_by_key(kubectl: Kubectl) -> None:
    manifest = deployment("web")
    containers = manifest["spec"]["template"]["spec"]["containers"]
    containers[0]["env"] = [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]
    containers.append({"name": "helper", "image": "busybox:1"})
    kubectl.apply(manifest)
    kubectl("set", "env", "deployment/web", "-c", "main", "THEIRS=1")
    changed = copy.deepcopy(manifest)
    changed["spec"]["template"]["spec"]["containers"] = [
        {"name": "main", "image": "nginx:1.28", "env": [{"name": "B", "value": "2"}]}
    ]
    kubectl.apply(changed)
    [container] = kubectl.get("deployment web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "nginx:1.28"
    assert sorted((item["name"], item["value"]) for item in container["env"]) == [("B", "2"), ("THEIRS", "1")]


def test_apply_several_documents_and_a_list(kubectl: Kubectl) -> None:
    out = kubectl.apply(
        config_map("one"), {"apiVersion": "v1", "kind": "List", "items": [config_map("two"), pod("three")]}
    ).out
    assert out == "configmap/one created\nconfigmap/two created\npod/three created\n"


def test_apply_prunes_what_left_the_set(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("one", {"set": "x"}), config_map("two", {"set": "x"}))
    kubectl.create(config_map("other", {"set": "x"}))
    done = kubectl(
        "apply", "-f", "-", "--prune", "-l", "set=x", "--prune-allowlist=core/v1/ConfigMap",
        stdin=config_map("one", {"set": "x"}),
    )  # fmt: skip
    assert done.out == "configmap/one unchanged\nconfigmap/two pruned\n"
    assert kubectl("get", "cm", "-o", "name").lines == ["configmap/one", "configmap/other"]


def test_apply_refuses_a_change_of_an_immutable_field(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    changed = deployment("web")
    changed["spec"]["selector"]["matchLabels"] = {"app": "web", "more": "1"}
    changed["spec"]["template"]["metadata"]["labels"] = {"app": "web", "more": "1"}
    said = kubectl.fails("apply", "-f", "-", stdin=changed)
    assert said == (
        'The Deployment "web" is invalid: spec.selector: Invalid value: '
        '{"matchLabels":{"app":"web","more":"1"}}: field is immutable'
    )


def test_dry_run_on_the_server_shows_the_result_and_keeps_nothing(kubectl: Kubectl) -> None:
    done = kubectl("apply", "--dry-run=server", "-f", "-", stdin=deployment("web"))
    assert done.out == "deployment.apps/web created (server dry run)\n"
    shown = kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=deployment("web")).json
    assert shown["spec"]["progressDeadlineSeconds"] == 600, "the server's defaults are in it"
    assert shown["metadata"]["uid"]
    assert kubectl("get", "deployments", "-o", "name").out == ""


@pytest.mark.parametrize(
    "command",
    [
        "label cm/cm a=b",
        "annotate cm/cm a=b",
        """patch cm/cm --type=merge -p '{"data":{"a":"2"}}' """,
        "delete cm/cm",
        "scale deployment/web --replicas=7",
        "set image deployment/web main=nginx:9",
    ],
)
def test_dry_run_of_changes(kubectl: Kubectl, command: str) -> None:
    kubectl.create(config_map("cm", a="1"), deployment("web"))
    before = kubectl.get("cm,deployment")
    kubectl(*shlex.split(command), "--dry-run=server")
    assert kubectl.get("cm,deployment")["items"] == before["items"]


def test_diff_tells_by_exit_code(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", replicas=2))
    assert kubectl.attempt("diff", "-f", "-", stdin=deployment("web", replicas=2)).code == 0
    done = kubectl.attempt("diff", "-f", "-", stdin=deployment("web", replicas=4))
    assert done.code == 1
    assert "-  replicas: 2" in done.out
    assert "+  replicas: 4" in done.out
    assert kubectl.get("deployment web")["spec"]["replicas"] == 2
    done = kubectl.attempt("diff", "-f", "-", stdin=config_map("new", a="1"))
    assert done.code == 1
    assert "+  name: new" in done.out


def test_replace_takes_the_whole_object(kubectl: Kubectl) -> None:
    kubectl.create(config_map("cm", {"a": "1"}, old="1"))
    assert kubectl("replace", "-f", "-", stdin=config_map("cm", new="1")).out == "configmap/cm replaced\n"
    replaced = kubectl.get("cm cm")
    assert replaced["data"] == {"new": "1"}
    assert "labels" not in replaced["metadata"]


def test_replace_with_an_old_version_is_a_conflict(kubectl: Kubectl) -> None:
    kubectl.create(config_map("cm", a="1"))
    old = kubectl.get("cm cm")
    kubectl("label", "cm", "cm", "x=y")
    old["data"] = {"a": "2"}
    said = kubectl.fails("replace", "-f", "-", stdin=old)
    assert said.startswith("Error from server (Conflict): ")
    assert said.endswith(
        'Operation cannot be fulfilled on configmaps "cm": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_replace_by_force_makes_a_new_object(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web"))
    uid = kubectl.get("deployment web")["metadata"]["uid"]
    changed = deployment("web")
    changed["spec"]["selector"]["matchLabels"] = changed["spec"]["template"]["metadata"]["labels"] = {
        "b": "c"
    }
    out = kubectl("replace", "--force", "-f", "-", stdin=changed).out
    assert out.endswith("deployment.apps/web replaced\n")
    replaced = kubectl.get("deployment web")
    assert replaced["metadata"]["uid"] != uid
    assert replaced["spec"]["selector"]["matchLabels"] == {"b": "c"}


def test_strict_validation_names_every_unknown_and_repeated_field(kubectl: Kubectl) -> None:
    manifest = deployment("web")
    manifest["spec"]["replica"] = 3
    manifest["spec"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    said = kubectl.fails("create", "--validate=strict", "-f", "-", stdin=manifest)
    assert said == (
        'Error from server (BadRequest): error when creating "STDIN": Deployment in version "v1" cannot be '
        'handled as a Deployment: strict decoding error: unknown field "spec.replica", '
        'unknown field "spec.template.spec.containers[0].imagePolicy"'
    )


def test_validation_that_warns(kubectl: Kubectl) -> None:
    manifest = config_map("cm") | {"datum": {"a": "b"}}
    done = kubectl("create", "--validate=warn", "-f", "-", stdin=manifest)
    assert done.err == 'Warning: unknown field "datum"\n'
    done = kubectl("create", "--validate=ignore", "-f", "-", stdin=config_map("cm2") | {"datum": {}})
    assert done.err == ""


def test_warnings_of_the_server_are_shown(kubectl: Kubectl) -> None:
    manifest = pod("p")
    manifest["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    done = kubectl("create", "-f", "-", stdin=manifest)
    assert done.out == "pod/p created\n"
    assert done.err == (
        'Warning: spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when '
        "using apply\n"
    )


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        pytest.param(
            config_map("Not_Good"),
            'The ConfigMap "Not_Good" is invalid: metadata.name: Invalid value: "Not_Good": a lowercase RFC 1123 '
            "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
            "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            id="name",
        ),
        pytest.param(
            deployment("web", replicas=-1),
            'The Deployment "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
            id="negative replicas",
        ),
        pytest.param(
            pod("p", containers=[]),
            'The Pod "p" is invalid: spec.containers: Required value',
            id="no containers",
        ),
        pytest.param(
            pod("p", containers=[{"name": "A", "image": "b"}], restartPolicy="Maybe"),
            'The Pod "p" is invalid: \n'
            '* spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case '
            "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. "
            "'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n"
            '* spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
            id="two causes",
        ),
    ],
)
def test_invalid_objects_are_explained(kubectl: Kubectl, manifest: object, expected: str) -> None:
    assert kubectl.fails("create", "-f", "-", stdin=manifest) == expected
