"""What a cluster accepts and does not act on: it is said when it is set, and nothing is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from steersman.cluster.apiserver.resources.fields_without_effect import (
    CONDITIONS,
    POD,
    Row,
    add_warnings,
    rows,
)
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.schema.resources import all_resources
from steersman.cluster.schema.table import definition

COMPATIBILITY = Path(__file__).parents[5] / "docs" / "compatibility.md"
_CORE: Final = "io.k8s.api.core.v1."

# --- everything is either acted on or spoken of

#: By type, the fields that controllers, scheduler or nodes act on, or answer with a refusal or an event.
ACTED_ON: Mapping[str, str] = {
    "PodSpec": """
        activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy
        enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostname hostnameOverride
        initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName
        readinessGates resources restartPolicy schedulerName schedulingGates securityContext serviceAccount
        serviceAccountName subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes
    """,
    "Container": """
        args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe
        resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce
        terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir
    """,
    "SecurityContext": """
        allowPrivilegeEscalation capabilities privileged readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser
    """,
    "PodSecurityContext": """
        fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser supplementalGroups
        supplementalGroupsPolicy sysctls
    """,
    "VolumeMount": "mountPath name readOnly subPath subPathExpr",
    "Probe": """
        exec failureThreshold grpc httpGet initialDelaySeconds periodSeconds successThreshold tcpSocket
        terminationGracePeriodSeconds timeoutSeconds
    """,
    "Lifecycle": "postStart preStop stopSignal",
    "ContainerPort": "containerPort hostIP hostPort name protocol",
    "ResourceRequirements": "limits requests",
    # The others end in an event: this node has no volumes of that type.
    "Volume": """
        awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI emptyDir ephemeral fc
        flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi name nfs
        persistentVolumeClaim photonPersistentDisk portworxVolume projected quobyte rbd scaleIO secret storageos
        vsphereVolume
    """,
}
#: What needs no action here, or none on Linux, or is behind a gate that is off in Kubernetes, too.
NEEDS_NONE: Mapping[str, str] = {
    # Processes of a machine see each other; images are there already.
    "PodSpec": "hostPID shareProcessNamespace imagePullSecrets evictionResponders schedulingGroup",
    "SecurityContext": "windowsOptions",
    "PodSecurityContext": "windowsOptions seLinuxChangePolicy",
    "VolumeMount": "bindMountOptions",
    # With the pod's resourceClaims.
    "ResourceRequirements": "claims",
}
RESOURCES_ACTED_ON: Final = """
    bindings componentstatuses configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims
    persistentvolumes pods podtemplates replicationcontrollers resourcequotas secrets serviceaccounts services
    apiservices.apiregistration.k8s.io
    controllerrevisions.apps daemonsets.apps deployments.apps replicasets.apps statefulsets.apps
    events.events.k8s.io
    selfsubjectreviews.authentication.k8s.io tokenreviews.authentication.k8s.io
    localsubjectaccessreviews.authorization.k8s.io selfsubjectaccessreviews.authorization.k8s.io
    selfsubjectrulesreviews.authorization.k8s.io subjectaccessreviews.authorization.k8s.io
    horizontalpodautoscalers.autoscaling
    cronjobs.batch jobs.batch
    certificatesigningrequests.certificates.k8s.io clustertrustbundles.certificates.k8s.io
    podcertificaterequests.certificates.k8s.io
    ingressclasses.networking.k8s.io ipaddresses.networking.k8s.io
    poddisruptionbudgets.policy
    clusterrolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io
    rolebindings.rbac.authorization.k8s.io roles.rbac.authorization.k8s.io
    csinodes.storage.k8s.io csistoragecapacities.storage.k8s.io storageclasses.storage.k8s.io
    volumeattachments.storage.k8s.io volumeattributesclasses.storage.k8s.io
    mutatingadmissionpolicies.admissionregistration.k8s.io
    mutatingadmissionpolicybindings.admissionregistration.k8s.io
    mutatingwebhookconfigurations.admissionregistration.k8s.io
    validatingadmissionpolicies.admissionregistration.k8s.io
    validatingadmissionpolicybindings.admissionregistration.k8s.io
    validatingwebhookconfigurations.admissionregistration.k8s.io
    customresourcedefinitions.apiextensions.k8s.io
    priorityclasses.scheduling.k8s.io leases.coordination.k8s.io endpointslices.discovery.k8s.io
    flowschemas.flowcontrol.apiserver.k8s.io prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
    deviceclasses.resource.k8s.io devicetaintrules.resource.k8s.io resourceslices.resource.k8s.io
"""


def spoken_of(type_name: str) -> set[str]:
    """The fields of a type that the table has."""
    return {field for row in rows() if row.where == POD for kind, field in steps(row) if kind == type_name}


def steps(row: Row) -> Iterator[tuple[str, str]]:
    """The type and name of the field that a path of the table is about: what it says of a part, it says of the
    field of the pod or container that has it."""
    kind, path = "PodSpec", row.path
    for name in path:
        field = name.removesuffix("[]")
        schema = definition(_CORE + kind)["properties"][field]
        target = schema.get("$ref") or schema.get("items", {}).get("$ref")
        nested = target is not None and target.removeprefix(_CORE) in ACTED_ON
        if not nested:
            yield kind, field
            # What is below it is there, too.
            for below in path[path.index(name) + 1 :]:
                assert target is not None
                assert below in definition(target)["properties"], row
            return
        assert target is not None
        kind = target.removeprefix(_CORE)
    raise AssertionError(f"{row} is about a whole {kind}")


@pytest.mark.parametrize("kind", ACTED_ON)
def test_every_field_is_acted_on_or_spoken_of(kind: str) -> None:
    acted, none, said = ACTED_ON[kind].split(), NEEDS_NONE.get(kind, "").split(), spoken_of(kind)
    fields = sorted(definition(_CORE + kind)["properties"])
    assert sorted([*acted, *none, *said]) == fields, "each field belongs to exactly one of them"


def test_ephemeral_containers_are_containers() -> None:
    fields = {
        kind: set(definition(_CORE + kind)["properties"]) for kind in ("Container", "EphemeralContainer")
    }
    assert fields["EphemeralContainer"] - fields["Container"] == {"targetContainerName"}


def test_every_resource_is_acted_on_or_spoken_of() -> None:
    served = {f"{one.plural}.{one.group}".rstrip(".") for one in all_resources()}
    said = {row.where for row in rows()} - {POD}
    assert sorted([*RESOURCES_ACTED_ON.split(), *said]) == sorted(served)


def test_the_page_of_differences_has_each_of_them() -> None:
    page = COMPATIBILITY.read_text("utf-8")
    missing = [row for row in rows() if f"`{_named(row)}`" not in page]
    assert missing == []


def _named(row: Row) -> str:
    if row.where != POD:
        return row.where.partition(".")[0]
    return [field for _, field in steps(row)][-1]


def test_conditions_are_known() -> None:
    assert {row.condition for row in rows()} == CONDITIONS


# --- what is said when

Object = dict[str, Any]


def warnings(plural: str, new: Object, old: Object | None = None, *, unless: str = "") -> list[str]:
    catalog = Catalog(all_resources())
    add_warnings(catalog, {condition: (lambda: True) for condition in CONDITIONS if condition != unless})
    resource = next(one for one in catalog if one.plural == plural)
    return [] if resource.effect_warnings is None else resource.effect_warnings(new, old)


def pod(spec: Object, **metadata: Any) -> Object:
    return {"metadata": {"name": "a", **metadata}, "spec": {"containers": [{"name": "c"}], **spec}}


SECCOMP = {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, []),
        ({"hostUsers": True}, []),
        (
            {"hostUsers": False},
            ["spec.hostUsers: pods have no user namespace: users are those of the machine"],
        ),
        (SECCOMP, ["spec.securityContext.seccompProfile.type: system calls are not filtered"]),
        ({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, []),
        ({"securityContext": {}, "containers": []}, []),
        (
            {"containers": [{"name": "a"}, {"name": "b", **SECCOMP}], "initContainers": [SECCOMP]},
            [
                "spec.initContainers[0].securityContext.seccompProfile.type: system calls are not filtered",
                "spec.containers[1].securityContext.seccompProfile.type: system calls are not filtered",
            ],
        ),
        (
            {
                "containers": [
                    {"volumeMounts": [{"mountPropagation": "None"}, {"mountPropagation": "Bidirectional"}]}
                ]
            },
            [
                "spec.containers[0].volumeMounts[1].mountPropagation: "
                "mounts are not propagated between pods and their machine"
            ],
        ),
    ],
    ids=["nothing", "the default", "false", "profile", "as it is", "empty", "containers", "mounts"],
)
def test_fields_of_a_new_pod(spec: Object, said: list[str]) -> None:
    assert warnings("pods", pod(spec)) == said


def test_only_what_is_new_is_spoken_of() -> None:
    before = pod(SECCOMP)
    after = pod({**SECCOMP, "hostUsers": False})
    assert warnings("pods", before, before) == []
    (said,) = warnings("pods", after, before)
    assert said.startswith("spec.hostUsers: ")


@pytest.mark.parametrize(
    ("plural", "wrap", "path"),
    [
        ("deployments", lambda spec: {"template": {"spec": spec}}, "spec.template.spec"),
        (
            "cronjobs",
            lambda spec: {"jobTemplate": {"spec": {"template": {"spec": spec}}}},
            "spec.jobTemplate.spec.template.spec",
        ),
    ],
    ids=["deployment", "cron job"],
)
def test_templates_are_spoken_of_and_the_pods_made_of_them_are_not(plural: str, wrap: Any, path: str) -> None:
    spec = pod(SECCOMP)["spec"]
    (said,) = warnings(plural, {"metadata": {}, "spec": wrap(spec)})
    assert said.startswith(f"{path}.securityContext.seccompProfile")
    owner = {"kind": "ReplicaSet", "name": "x", "controller": True}
    assert warnings("pods", pod(SECCOMP, ownerReferences=[owner])) == []


def test_objects_that_nothing_looks_at() -> None:
    policy = {"metadata": {"name": "a"}, "spec": {}}
    (said,) = warnings("networkpolicies", policy)
    assert said.startswith("NetworkPolicies are not enforced")
    assert warnings("networkpolicies", policy, policy) == []
    assert len(warnings("ingresses", policy)) == 1
    assert warnings("ingresses", policy, unless="no-ingress-class") == []


def test_a_server_by_itself_says_nothing() -> None:
    assert all(resource.effect_warnings is None for resource in Catalog(all_resources()))
