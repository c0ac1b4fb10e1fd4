"""What kubectl shows when the server says no: the texts and exit codes of Kubernetes."""

from __future__ import annotations

import shlex

import pytest

from tests.support.kubectl import Kubectl
from tests.support.manifests import config_map, pod

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("get pod/none", 'Error from server (NotFound): pods "none" not found'),
        ("get deploy none", 'Error from server (NotFound): deployments.apps "none" not found'),
        ("delete cm none", 'Error from server (NotFound): configmaps "none" not found'),
        ("label cm none a=b", 'Error from server (NotFound): configmaps "none" not found'),
        ("get widgets", 'error: the server doesn\'t have a resource type "widgets"'),
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
