"""Controllers of the apps group."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

Object = dict[str, Any]

UNMATCHED = "`selector` does not match template `labels`"
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
TEMPLATE: Object = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "resources": {},
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "Always",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
    },
}
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    "status": {},
}
EXTRAS: dict[str, Object] = {
    "Deployment": {"replicas": 1, "strategy": ROLLING, "progressDeadlineSeconds": 600},
    "ReplicaSet": {"replicas": 1},
    "StatefulSet": {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "serviceName": "s",
    },
    "DaemonSet": {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    },
}


def valid(kind: str) -> Object:
    return {
        "metadata": {"name": "x", "namespace": "ns", "resourceVersion": "1"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": deepcopy(TEMPLATE), **EXTRAS[kind]},
        "status": {},
    }


SPECS: dict[str, tuple[str, Object, list[str]]] = {
    **{f"a valid {kind}": (kind, {}, []) for kind in EXTRAS},
    "replicas": (
        "Deployment",
        {"replicas": -1},
        ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "no selector": (
        "Deployment",
        {"selector": None},
        [
            "spec.selector: Required value",
            f'spec.template.metadata.labels: Invalid value: {{"a":"b"}}: {UNMATCHED}',
        ],
    ),
    "empty selector": (
        "Deployment",
        {"selector": {"matchLabels": None}},
        ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    ),
    "unreadable selector": (
        "ReplicaSet",
        {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
        [
            'spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector '
            "operator",
            'spec.selector: Invalid value: {"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a",'
            '"operator":"Near"}]}: invalid label selector',
        ],
    ),
    "recreate and roll": (
        "Deployment",
        {"strategy": {"type": "Recreate"}},
        ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ),
    "unknown strategy": (
        "Deployment",
        {"strategy": {"type": "Hope", "rollingUpdate": None}},
        [
            'spec.strategy: Unsupported value: {"Type":"Hope","RollingUpdate":null}: '
            'supported values: "Recreate", "RollingUpdate"'
        ],
    ),
    "no room to roll": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "0%"}}},
        ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
    ),
    "more than all": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}},
        ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ),
    "no percentage": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxSurge": "some"}}},
        [
            'spec.strategy.rollingUpdate.maxSurge: Invalid value: "some": a valid percent string must be a '
            "numeric "
            "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        ],
    ),
    "no time to become ready": (
        "Deployment",
        {"minReadySeconds": 600},
        ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    ),
    "pods that end": (
        "Deployment",
        {"template": {"spec": {"restartPolicy": "OnFailure"}}},
        ['spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"'],
    ),
    "pod management": (
        "StatefulSet",
        {"podManagementPolicy": "Chaos"},
        ["spec.podManagementPolicy: Invalid value: \"Chaos\": must be 'OrderedReady' or 'Parallel'"],
    ),
    "stateful strategy": (
        "StatefulSet",
        {"updateStrategy": {"type": "OnDelete"}},
        [
            'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":0,"MaxUnavailable":null}: '
            "only allowed for updateStrategy 'RollingUpdate'"
        ],
    ),
    "stateful claim": (
        "StatefulSet",
        {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"resources": {}}}]},
        [
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is "
            "required",
            "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
        ],
    ),
    "daemon surge and gap": (
        "DaemonSet",
        {"updateStrategy": {"rollingUpdate": {"maxSurge": 1}}},
        [
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: "
            "may not be set when maxUnavailable is non-zero"
        ],
    ),
    "daemon neither": (
        "DaemonSet",
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}},
        ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
    ),
    "daemon selector": (
        "DaemonSet",
        {"selector": {"matchLabels": {"a": "c"}}},
        [f'spec.template.metadata.labels: Invalid value: {{"a":"b"}}: {UNMATCHED}'],
    ),
}


@pytest.mark.parametrize(("kind", "spec", "expected"), SPECS.values(), ids=SPECS)
def test_a_controller_is_judged(created: Any, kind: str, spec: Object, expected: list[str]) -> None:
    assert created("apps", kind, valid(kind), {"spec": spec}) == expected


@pytest.mark.parametrize("kind", EXTRAS)
def test_a_selector_never_changes(updated: Any, kind: str) -> None:
    patch = {
        "spec": {
            "selector": {"matchLabels": {"a": "b", "c": "d"}},
            "template": {"metadata": {"labels": {"c": "d"}}},
        }
    }
    assert updated("apps", kind, valid(kind), patch) == [
        'spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable'
    ]


def test_mounts_find_the_claims_of_a_stateful_set(created: Any) -> None:
    template = {
        "spec": {
            "containers": [
                {**TEMPLATE["spec"]["containers"][0], "volumeMounts": [{"name": "data", "mountPath": "/d"}]}
            ]
        }
    }
    patch = {"spec": {"volumeClaimTemplates": [CLAIM], "template": template}}
    assert created("apps", "StatefulSet", valid("StatefulSet"), patch) == []


def test_what_a_stateful_set_promised_never_changes(updated: Any) -> None:
    patch = {"spec": {"serviceName": "t", "podManagementPolicy": "Parallel"}}
    assert updated("apps", "StatefulSet", valid("StatefulSet"), patch) == [
        'spec.serviceName: Invalid value: "t": field is immutable',
        'spec.podManagementPolicy: Invalid value: "Parallel": field is immutable',
    ]


def test_a_stateful_set_s_name_is_a_label(created: Any) -> None:
    assert created("apps", "StatefulSet", valid("StatefulSet"), {"metadata": {"name": "a.b"}}) == [
        'metadata.name: Invalid value: "a.b": must not contain dots'
    ]


def test_collisions_are_only_counted_up(reported: Any) -> None:
    deployment = valid("Deployment")
    deployment["status"] = {"collisionCount": 2}
    assert reported("apps", "Deployment", deployment, {"status": {"collisionCount": 1}}) == [
        "status.collisionCount: Invalid value: 1: cannot be decremented"
    ]
    deployment["status"] = {"collisionCount": 0}
    assert reported("apps", "Deployment", deployment, {"status": {"collisionCount": None}}) == [
        "status.collisionCount: Invalid value: 0: cannot be decremented"
    ]


REVISIONS = {
    "valid": ({}, []),
    "negative": ({"revision": -1}, ["revision: Invalid value: -1: must be greater than or equal to 0"]),
    "no data": ({"data": None}, ["data: Required value: data is mandatory"]),
    "a list": ({"data": [1]}, ["data: Required value: data must be a valid JSON object"]),
}


@pytest.mark.parametrize(("patch", "expected"), REVISIONS.values(), ids=REVISIONS)
def test_a_revision_is_judged(created: Any, patch: Object, expected: list[str]) -> None:
    base = {"metadata": {"name": "r", "namespace": "ns"}, "revision": 1, "data": {"a": 1}}
    assert created("apps", "ControllerRevision", base, patch) == expected


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_counts_of_a_status_are_counts(reported: Any, kind: str) -> None:
    good = {"replicas": 2, "readyReplicas": 1, "availableReplicas": 1}
    assert reported("apps", kind, valid(kind), {"status": good}) == []
    assert reported("apps", kind, valid(kind), {"status": {"observedGeneration": -1}}) == [
        "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"
    ]
    too_many = reported("apps", kind, valid(kind), {"status": {"replicas": 1, "availableReplicas": 2}})
    assert "cannot be greater than status.replicas" in too_many[0]


def test_counts_of_a_daemon_set_are_counts(reported: Any) -> None:
    status = {"currentNumberScheduled": 1, "desiredNumberScheduled": -1}
    assert reported("apps", "DaemonSet", valid("DaemonSet"), {"status": status}) == [
        "status.desiredNumberScheduled: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_a_stateful_set_s_service_is_looked_at_once(created: Any, updated: Any) -> None:
    wrong = {"spec": {"serviceName": "S_"}}
    (error,) = created("apps", "StatefulSet", valid("StatefulSet"), wrong)
    assert error.startswith('spec.serviceName: Invalid value: "S_": a lowercase RFC 1123 label')
    assert created("apps", "StatefulSet", valid("StatefulSet"), {"spec": {"serviceName": None}}) == []
    old = valid("StatefulSet")
    old["spec"]["serviceName"] = "S_"
    assert updated("apps", "StatefulSet", old, {"spec": {"replicas": 2}}) == []


def test_labels_and_annotations_of_a_stateful_set_s_pods_are_looked_at_twice(created: Any) -> None:
    def errors_at(metadata: Object) -> list[str]:
        patch = {"spec": {"template": {"metadata": metadata}}}
        found = created("apps", "StatefulSet", valid("StatefulSet"), patch)
        return [error.partition(": ")[0] for error in found]

    assert errors_at({"labels": {"-": "b"}}) == ["spec.template.labels"] * 2
    assert errors_at({"annotations": {"-": "b"}}) == ["spec.template.annotations"] * 2
    mirror = "kubernetes.io/config.mirror"
    assert errors_at({"annotations": {mirror: "x"}}) == [f"spec.template.annotations[{mirror}]"] * 2


@pytest.mark.parametrize("field", ["hostname", "subdomain"])
def test_names_of_a_stateful_set_s_pods_come_from_the_controller(created: Any, field: str) -> None:
    patch = {"spec": {"template": {"spec": {field: "Not_A_Name"}}}}
    assert created("apps", "StatefulSet", valid("StatefulSet"), patch) == []
    assert created("apps", "Deployment", valid("Deployment"), patch) != []


def test_a_claim_takes_the_place_of_a_volume(created: Any) -> None:
    patch = {
        "spec": {
            "volumeClaimTemplates": [CLAIM],
            "template": {
                "spec": {
                    "volumes": [{"name": "data", "hostPath": {}}, {"name": "other", "emptyDir": {}}],
                    "containers": [
                        {
                            **TEMPLATE["spec"]["containers"][0],
                            "volumeMounts": [
                                {"name": "data", "mountPath": "/d"},
                                {"name": "other", "mountPath": "/o"},
                            ],
                        }
                    ],
                }
            },
        }
    }
    assert created("apps", "StatefulSet", valid("StatefulSet"), patch) == []


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"type": "RollingUpdate", "rollingUpdate": None}, []),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": None}}, []),
        (
            {"rollingUpdate": {"partition": -1}},
            [
                "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: "
                "must be greater than or equal to 0"
            ],
        ),
    ],
    ids=["no settings", "no partition", "negative partition"],
)
def test_how_a_stateful_set_is_updated(created: Any, strategy: Object, expected: list[str]) -> None:
    patch = {"spec": {"updateStrategy": strategy}}
    assert created("apps", "StatefulSet", valid("StatefulSet"), patch) == expected


def test_pods_of_a_stateful_set_are_its_own(created: Any) -> None:
    other = {"spec": {"selector": {"matchLabels": {"x": "y"}}}}
    assert created("apps", "StatefulSet", valid("StatefulSet"), other) == [
        f'spec.template.metadata.labels: Invalid value: {{"a":"b"}}: {UNMATCHED}'
    ]
    key = "container.apparmor.security.beta.kubernetes.io/c"
    armed = {"spec": {"template": {"metadata": {"annotations": {key: "unconfined"}}}}}
    assert created("apps", "StatefulSet", valid("StatefulSet"), armed) == []


def test_the_data_of_a_revision_stays(updated: Any) -> None:
    old = {
        "metadata": {"name": "r", "namespace": "ns", "resourceVersion": "1"},
        "revision": 1,
        "data": {"a": 1},
    }
    assert updated("apps", "ControllerRevision", old, {"revision": 2}) == []
    assert updated("apps", "ControllerRevision", old, {"data": {"a": 2}}) == [
        'data: Invalid value: {"a":2}: field is immutable'
    ]
