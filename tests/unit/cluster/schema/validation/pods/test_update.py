"""What may change in a pod, and how a refusal shows the difference."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

ALLOWED = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)
TOLERATION = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
UPDATES = {
    "labels": ({"metadata": {"labels": {"a": "b"}}}, []),
    "a toleration more": ({"spec": {"tolerations": [TOLERATION, {"operator": "Exists"}]}}, []),
    "longer toleration": ({"spec": {"tolerations": [{**TOLERATION, "tolerationSeconds": 9}]}}, []),
    "a toleration less": (
        {"spec": {"tolerations": []}},
        ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    ),
    "a deadline": ({"spec": {"activeDeadlineSeconds": 10}}, []),
    "a scheduler": (
        {"spec": {"schedulerName": "other"}},
        [
            f"spec: Forbidden: {ALLOWED}"
            "@@ -67,7 +67,7 @@\n"
            '  "Hostname": "",\n  "Subdomain": "",\n  "Affinity": null,\n'
            '- "SchedulerName": "default-scheduler",\n+ "SchedulerName": "other",\n'
            '  "Tolerations": [\n   {\n    "Key": "a",\n'
        ],
    ),
    "a container": (
        {"spec": {"containers": []}},
        [
            "spec.containers: Required value",
            "spec.containers: Forbidden: pod updates may not add or remove containers",
        ],
    ),
    "a gate": (
        {"spec": {"schedulingGates": [{"name": "g"}]}},
        [
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling "
            "gate 'g'"
        ],
    ),
}


@pytest.mark.parametrize(("patch", "expected"), UPDATES.values(), ids=UPDATES)
def test_an_update_is_judged(
    updated: Any, pod: dict[str, Any], patch: dict[str, Any], expected: list[str]
) -> None:
    pod["spec"]["tolerations"] = [TOLERATION]
    assert updated("", "Pod", pod, patch) == expected


def test_a_pod_does_not_become_a_mirror(updated: Any, pod: dict[str, Any]) -> None:
    pod["spec"]["nodeName"] = "n"
    assert updated("", "Pod", pod, {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}) == [
        "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"
    ]


def test_images_may_change(updated: Any, pod: dict[str, Any], container: dict[str, Any]) -> None:
    assert updated("", "Pod", pod, {"spec": {"containers": [{**container, "image": "other"}]}}) == []


def test_a_deadline_only_comes_closer(updated: Any, pod: dict[str, Any]) -> None:
    pod["spec"]["activeDeadlineSeconds"] = 10
    assert updated("", "Pod", pod, {"spec": {"activeDeadlineSeconds": 11}}) == [
        "spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"
    ]
    assert updated("", "Pod", pod, {"spec": {"activeDeadlineSeconds": None}}) == [
        "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to "
        "nil value"
    ]


def test_equal_amounts_in_other_words_are_no_change(updated: Any, pod: dict[str, Any]) -> None:
    pod["spec"]["containers"][0]["resources"] = {"limits": {"memory": "1Gi"}}
    changed = deepcopy(pod["spec"]["containers"])
    changed[0]["resources"] = {"limits": {"memory": "1073741824"}}
    assert updated("", "Pod", pod, {"spec": {"containers": changed}}) == []


def test_a_gated_pod_may_be_told_where_to_run(updated: Any, pod: dict[str, Any]) -> None:
    pod["spec"] |= {"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}}
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert updated("", "Pod", pod, {"spec": {"nodeSelector": {"c": "d"}}}) == []
    assert updated("", "Pod", pod, {"spec": {"affinity": {"nodeAffinity": required}}}) == []
    assert updated("", "Pod", pod, {"spec": {"nodeSelector": {"a": "x"}}}) == [
        'spec.nodeSelector: Invalid value: {"a":"x"}: '
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    ]


def test_node_affinity_of_a_gated_pod_only_narrows(updated: Any, pod: dict[str, Any]) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    where = "requiredDuringSchedulingIgnoredDuringExecution"
    pod["spec"]["schedulingGates"] = [{"name": "g"}]
    pod["spec"]["affinity"] = {"nodeAffinity": {where: {"nodeSelectorTerms": [term]}}}
    wider = {"affinity": {"nodeAffinity": {where: {"nodeSelectorTerms": [term, term]}}}}
    shown = '{"MatchExpressions":[{"Key":"zone","Operator":"Exists","Values":null}],"MatchFields":null}'
    assert updated("", "Pod", pod, {"spec": wider}) == [
        f"spec.affinity.nodeAffinity.{where}.nodeSelectorTerms: Invalid value: [{shown},{shown}]: "
        "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
    ]


def test_wrong_labels_are_found_on_update(updated: Any, pod: dict[str, Any]) -> None:
    [error] = set(updated("", "Pod", pod, {"metadata": {"labels": {"a": "-"}}}))
    assert error.startswith('metadata.labels: Invalid value: "-": a valid label must be an empty string')


def narrowed(pod: dict[str, Any], terms: list[Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    new = deepcopy(pod)
    new["spec"] |= {"schedulingGates": [{"name": "g"}], "affinity": {"nodeAffinity": required}}
    return new


ZONE = {"key": "zone", "operator": "Exists"}
DISK = {"key": "disk", "operator": "Exists"}


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ([{"matchExpressions": [ZONE]}], [{"matchExpressions": [ZONE, DISK]}], True),
        ([{"matchExpressions": [ZONE]}], [{"matchExpressions": [DISK]}], False),
        ([{"matchExpressions": [ZONE, DISK]}], [{"matchExpressions": [ZONE]}], False),
        ([{}], [{"matchExpressions": [ZONE]}], False),
        ([{"matchExpressions": [ZONE]}], [{"matchExpressions": [ZONE]}, {"matchExpressions": [DISK]}], False),
    ],
    ids=["one more", "another", "one less", "of what matches nothing", "another term"],
)
def test_terms_of_a_gated_pod_only_grow(
    updated: Any, pod: dict[str, Any], before: list[Any], after: list[Any], allowed: bool
) -> None:
    errors = updated("", "Pod", narrowed(pod, before), {"spec": narrowed(pod, after)["spec"]})
    assert (errors == []) is allowed


def test_a_grace_period_that_was_negative_becomes_a_second(updated: Any, pod: dict[str, Any]) -> None:
    assert updated("", "Pod", pod, {"spec": {"terminationGracePeriodSeconds": 1}}) != []
    pod["spec"]["terminationGracePeriodSeconds"] = -1
    assert updated("", "Pod", pod, {"spec": {"terminationGracePeriodSeconds": 1}}) == []
    assert updated("", "Pod", pod, {"spec": {"terminationGracePeriodSeconds": 2}}) != []
