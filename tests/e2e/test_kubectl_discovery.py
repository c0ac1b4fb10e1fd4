"""kubectl finds out what the server is and has: versions, resources, documentation, health."""

from __future__ import annotations

import pytest
import yaml

from steersman.cluster.schema.version import KUBERNETES_MINOR
from tests.support.kubectl import Kubectl
from tests.support.steer import Steer

pytestmark = pytest.mark.slow

#: The built-in resources that can be listed, as `kubectl api-resources -o name` shows them.
LISTABLE = """
configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims persistentvolumes pods
podtemplates replicationcontrollers resourcequotas secrets serviceaccounts services
controllerrevisions.apps daemonsets.apps deployments.apps replicasets.apps statefulsets.apps
horizontalpodautoscalers.autoscaling cronjobs.batch jobs.batch
certificatesigningrequests.certificates.k8s.io leases.coordination.k8s.io
endpointslices.discovery.k8s.io events.events.k8s.io
flowschemas.flowcontrol.apiserver.k8s.io prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
ingressclasses.networking.k8s.io ingresses.networking.k8s.io networkpolicies.networking.k8s.io
runtimeclasses.node.k8s.io poddisruptionbudgets.policy
clusterrolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io
rolebindings.rbac.authorization.k8s.io roles.rbac.authorization.k8s.io
priorityclasses.scheduling.k8s.io
csidrivers.storage.k8s.io csinodes.storage.k8s.io csistoragecapacities.storage.k8s.io
storageclasses.storage.k8s.io volumeattachments.storage.k8s.io
mutatingwebhookconfigurations.admissionregistration.k8s.io
validatingwebhookconfigurations.admissionregistration.k8s.io
"""

CLUSTER_SCOPED = {"namespaces", "nodes", "persistentvolumes", "clusterroles.rbac.authorization.k8s.io"}


def test_api_resources_lists_every_builtin(cluster_kubectl: Kubectl) -> None:
    listed = cluster_kubectl("api-resources", "-o", "name", "--verbs=list,watch").lines
    assert set(LISTABLE.split()) <= set(listed)
    assert "bindings" not in listed, "can only be created"
    assert "pods/status" not in listed


def test_api_resources_by_scope(cluster_kubectl: Kubectl) -> None:
    namespaced = set(cluster_kubectl("api-resources", "-o", "name", "--namespaced=true").lines)
    others = set(cluster_kubectl("api-resources", "-o", "name", "--namespaced=false").lines)
    assert others >= CLUSTER_SCOPED
    assert namespaced >= {"pods", "deployments.apps", "bindings"}
    assert not namespaced & others


def test_api_resources_wide_shows_short_names_verbs_and_categories(cluster_kubectl: Kubectl) -> None:
    rows = {row[0]: row for row in cluster_kubectl("api-resources", "--api-group=apps", "-o", "wide").rows}
    assert rows["deployments"] == [
        "deployments",
        "deploy",
        "apps/v1",
        "true",
        "Deployment",
        "create,delete,deletecollection,get,list,patch,update,watch",
        "all",
    ]
    assert rows["controllerrevisions"][1] == "apps/v1", "has no short name"


def test_api_versions(cluster_kubectl: Kubectl) -> None:
    versions = cluster_kubectl("api-versions").lines
    assert versions == sorted(versions)
    assert {"v1", "apps/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1", "events.k8s.io/v1"} <= set(
        versions
    )


@pytest.mark.parametrize(
    ("what", "options", "expected"),
    [
        pytest.param(
            "pod", (), ["KIND:       Pod", "VERSION:    v1", "FIELDS:", "spec\t<PodSpec>"], id="kind"
        ),
        pytest.param(
            "deployment.spec.strategy.rollingUpdate.maxSurge",
            (),
            ["GROUP:      apps", "KIND:       Deployment", "FIELD: maxSurge <IntOrString>"],
            id="nested",
        ),
        pytest.param(
            "cronjob.spec",
            (),
            ["schedule\t<string> -required-", "jobTemplate\t<JobTemplateSpec> -required-"],
            id="required",
        ),
        pytest.param(
            "service",
            ("--recursive",),
            ["spec\t<ServiceSpec>", "    ports\t<[]ServicePort>", "      targetPort\t<IntOrString>"],
            id="recursive",
        ),
        pytest.param(
            "hpa",
            ("--api-version=autoscaling/v1",),
            ["VERSION:    v1", "GROUP:      autoscaling"],
            id="version",
        ),
        pytest.param(
            "ing.spec.rules.http.paths", (), ["KIND:       Ingress", "pathType\t<string>"], id="list"
        ),
    ],
)
def test_explain(cluster_kubectl: Kubectl, what: str, options: tuple[str, ...], expected: list[str]) -> None:
    out = cluster_kubectl("explain", what, *options).out
    for text in expected:
        assert text in out


def test_explain_of_a_field_that_is_not_there(cluster_kubectl: Kubectl) -> None:
    assert cluster_kubectl.fails("explain", "pod.spec.no") == 'error: field "no" does not exist'


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/healthz", "ok"),
        ("/livez", "ok"),
        ("/readyz?verbose", "[+]ping ok\n"),
        ("/version", '"major": "1"'),
        ("/openapi/v3", '"apis/apps/v1"'),
        ("/openapi/v3/apis/batch/v1", "io.k8s.api.batch.v1.Job"),
        ("/openapi/v2", '"swagger":"2.0"'),
        ("/apis/apps/v1", '"name":"deployments/scale"'),
        ("/metrics", "apiserver_request_total"),
    ],
)
def test_get_raw(cluster_kubectl: Kubectl, path: str, expected: str) -> None:
    assert expected in cluster_kubectl("get", "--raw", path).out


def test_version_names_client_and_server(cluster_kubectl: Kubectl) -> None:
    version = yaml.safe_load(cluster_kubectl("version", "-o", "yaml").out)
    assert version["clientVersion"]["gitVersion"]
    assert version["serverVersion"]["major"] == "1"
    assert version["serverVersion"]["gitVersion"].startswith(f"v{KUBERNETES_MINOR}.")


def test_cluster_info_names_the_server(cluster_kubectl: Kubectl, server: Steer) -> None:
    out = cluster_kubectl("cluster-info").out
    assert f"Kubernetes control plane is running at {server.announced['server']}" in out


def test_config_is_complete(cluster_kubectl: Kubectl, server: Steer) -> None:
    assert cluster_kubectl("config", "current-context").out == "steersman\n"
    view = yaml.safe_load(cluster_kubectl("config", "view", "--minify").out)
    assert view["clusters"][0]["cluster"] == {
        "certificate-authority-data": "DATA+OMITTED",
        "server": server.announced["server"],
    }
    assert view["users"] == [{"name": "admin", "user": {"token": "REDACTED"}}]
