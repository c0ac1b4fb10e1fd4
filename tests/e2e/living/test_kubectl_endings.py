"""How things end with kubectl: with their owners, without them, with their namespace."""

from __future__ import annotations

import pytest

from tests.support.kubectl import Kubectl
from tests.support.manifests import config_map

from .test_kubectl_living import WAIT, pods, soon, web

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_a_deployment_takes_everything_with_it(kubectl: Kubectl, cascade: str) -> None:
    web(kubectl, replicas=3)
    kubectl("delete", "deployment", "web", f"--cascade={cascade}", WAIT)
    if cascade == "foreground":
        assert kubectl("get", "rs,pods", "-o", "name").lines == []
    soon(lambda: kubectl("get", "rs,pods", "-o", "name").lines == [])


def test_an_orphaned_replica_set_goes_on(kubectl: Kubectl) -> None:
    web(kubectl, replicas=2)
    before = kubectl("get", "rs,pods", "-o", "name").lines
    kubectl("delete", "deployment", "web", "--cascade=orphan", WAIT)
    assert kubectl("get", "rs,pods", "-o", "name").lines == before
    kubectl("delete", "pod", pods(kubectl)[0]["metadata"]["name"])
    kubectl("wait", "rs", "--all", "--for=jsonpath={.status.readyReplicas}=2", WAIT)
    kubectl("delete", "rs", "--all", "--cascade=foreground", WAIT)
    assert kubectl("get", "pods", "-o", "name").lines == []


def test_a_namespace_goes_with_everything_in_it(kubectl: Kubectl) -> None:
    web(kubectl, replicas=5)
    kubectl.create(*[config_map(f"cm-{number}") for number in range(50)])
    kubectl("expose", "deployment", "web", "--port=80")
    kubectl("create", "serviceaccount", "robot")
    kubectl("delete", "namespace", kubectl.namespace, WAIT)
    assert kubectl("get", "all,cm,sa,events", "-o", "name").lines == []


def test_a_stuck_namespace_says_what_it_waits_for(kubectl: Kubectl) -> None:
    kubectl.create(config_map("stuck"))
    kubectl("patch", "cm", "stuck", "--type=merge", '-p={"metadata":{"finalizers":["example.com/slow"]}}')
    kubectl("delete", "namespace", kubectl.namespace, "--wait=false")
    kubectl("wait", "namespace", kubectl.namespace, "--for=condition=NamespaceFinalizersRemaining", WAIT)
    described = kubectl("describe", "namespace", kubectl.namespace).out
    assert "Some resources are remaining: configmaps. has 1 resource instances" in described
    assert "example.com/slow in 1 resource instances" in described
    refused = kubectl.fails("create", "cm", "late")
    assert "because it is being terminated" in refused
    kubectl("patch", "cm", "stuck", "--type=merge", '-p={"metadata":{"finalizers":null}}')
    kubectl("wait", "namespace", kubectl.namespace, "--for=delete", WAIT)
