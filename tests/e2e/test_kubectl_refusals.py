"""What kubectl shows when the server says no: the texts and exit codes of Kubernetes."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.support.kubectl import Kubectl
from tests.support.manifests import config_map, deployment, pod

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("get pod/none", 'Error from server (NotFound): pods "none" not found'),
        ("get deploy none", 'Error from server (NotFound): deployments.apps "none" not found'),
        ("delete cm none", 'Error from server (NotFound): configmaps "none" not found'),
        ("label cm none a=b", 'Error from server (NotFound): configmaps "none" not found'),
        # Of a kind that no other test defines in the same cluster: kubectl remembers for a while what there was.
        ("get unicorns", 'error: the server doesn\'t have a resource type "unicorns"'),
        ("create cm there", 'error: failed to create configmap: configmaps "there" already exists'),
        (
            "create cm x -n no-such-place",
            'error: failed to create configmap: namespaces "no-such-place" not found',
        ),
        (
            "get cm --field-selector=data=x",
            'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label '
            'selector "", field selector "data=x": "data" is not a known field selector: '
            'only "metadata.name", "metadata.namespace"',
        ),
        (
            "get cm -l a=b=c",
            'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label '
            "selector \"a=b=c\", field selector \"\": found '=', expected: ',' or 'end of string'",
        ),
        (
            "get --raw /api/v1/none",
            "Error from server (NotFound): the server could not find the requested resource",
        ),
        ("get --raw /none", "Error from server (NotFound): the server could not find the requested resource"),
        (
            "delete --raw /api/v1/pods",
            "Error from server (MethodNotAllowed): the server does not allow this method on the requested resource",
        ),
    ],
)
def test_refusals_are_said_as_kubernetes_says_them(kubectl: Kubectl, command: str, expected: str) -> None:
    kubectl.create(config_map("there"))
    assert kubectl.fails(*shlex.split(command)) == expected


def test_a_pod_that_runs_nowhere_has_no_logs(kubectl: Kubectl) -> None:
    kubectl.create(pod("p"))
    assert kubectl("logs", "p").out == ""


@pytest.mark.parametrize(
    "command", ["exec p -- ls", "attach p", "port-forward pod/p 8080", "get --raw {path}/proxy/"]
)
def test_a_pod_that_runs_nowhere_cannot_be_entered(kubectl: Kubectl, command: str) -> None:
    kubectl.create(pod("p"))
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/p"
    done = kubectl.attempt(*shlex.split(command.format(path=path)))
    assert done.code == 1
    assert done.out == ""
    assert done.err.splitlines()[-1].lower().startswith("error")


@pytest.mark.parametrize("path", ["pods/p/nothing", "pods/p/status/more", "nothing/p"])
def test_paths_that_lead_nowhere(kubectl: Kubectl, path: str) -> None:
    kubectl.create(pod("p"))
    said = kubectl.fails("get", "--raw", f"/api/v1/namespaces/{kubectl.namespace}/{path}")
    assert said == "Error from server (NotFound): the server could not find the requested resource"


@pytest.mark.parametrize(
    ("create", "what", "patch", "expected"),
    [
        (
            config_map("x", a="1") | {"immutable": True},
            "configmap/x",
            '{"data":{"a":"2"}}',
            'The ConfigMap "x" is invalid: data: Forbidden: field is immutable when `immutable` is set',
        ),
        (
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}},
            "secret/x",
            '{"type":"other"}',
            'The Secret "x" is invalid: type: Invalid value: "other": field is immutable',
        ),
        (
            deployment("x") | {"kind": "StatefulSet"},
            "statefulset/x",
            '{"spec":{"serviceName":"y"}}',
            'The StatefulSet "x" is invalid: spec.serviceName: Invalid value: "y": field is immutable',
        ),
        (
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "x"},
                "spec": {"template": {"spec": pod("x", restartPolicy="Never")["spec"]}},
            },
            "job/x",
            '{"spec":{"completions":5}}',
            'The Job "x" is invalid: spec.completions: Invalid value: 5: field is immutable',
        ),
        (
            pod("x"),
            "pod/x",
            '{"spec":{"containers":[{"name":"main","command":["y"]}]}}',
            'The Pod "x" is invalid: spec: Forbidden: pod updates may not change fields other than '
            "`spec.containers[*].image`,",
        ),
    ],
    ids=["config map", "secret", "stateful set", "job", "pod"],
)
def test_what_cannot_change_later(
    kubectl: Kubectl, create: object, what: str, patch: str, expected: str
) -> None:
    kubectl.create(create)
    assert kubectl.fails("patch", what, "-p", patch).startswith(expected)


def test_a_pod_of_an_unknown_priority_is_forbidden(kubectl: Kubectl) -> None:
    said = kubectl.fails("create", "-f", "-", stdin=pod("p", priorityClassName="nope"))
    assert said.endswith('pods "p" is forbidden: no PriorityClass with name nope was found')
    kubectl.create(pod("p", priorityClassName="system-node-critical"))
    assert kubectl.get("pod p")["spec"]["priority"] == 2000001000


def test_namespaces_that_cannot_be_deleted(cluster_kubectl: Kubectl) -> None:
    for name in ("default", "kube-system", "kube-public"):
        said = cluster_kubectl.fails("delete", "namespace", name)
        assert said.splitlines()[-1] == (
            f'Error from server (Forbidden): namespaces "{name}" is forbidden: this namespace may not be deleted'
        )


def test_a_disruption_budget_protects_from_eviction(kubectl: Kubectl) -> None:
    kubectl("create", "pdb", "most", "--selector=app=web", "--max-unavailable=0")
    kubectl.create(pod("p", {"app": "web"}))
    status = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    kubectl("patch", "pod", "p", "--subresource=status", "-p", status)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/p/eviction"
    said = kubectl.fails("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    assert said == (
        "Error from server (TooManyRequests): Cannot evict pod as it would violate the pod's disruption budget."
    )
    assert kubectl("get", "pods", "-o", "name").out == "pod/p\n"
