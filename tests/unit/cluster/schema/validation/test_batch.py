"""Jobs and CronJobs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

Object = dict[str, Any]

POD: Object = {
    "containers": [
        {
            "name": "c",
            "image": "b",
            "resources": {},
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "Always",
        }
    ],
    "restartPolicy": "Never",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
}
LABELS = {
    "controller-uid": "u",
    "batch.kubernetes.io/controller-uid": "u",
    "job-name": "j",
    "batch.kubernetes.io/job-name": "j",
}
JOB: Object = {
    "metadata": {"name": "j", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
    "spec": {
        "parallelism": 1,
        "completions": 1,
        "completionMode": "NonIndexed",
        "backoffLimit": 6,
        "manualSelector": False,
        "suspend": False,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
        "template": {"metadata": {"labels": LABELS}, "spec": POD},
    },
    "status": {},
}
CRON: Object = {
    "metadata": {"name": "cj", "namespace": "ns", "resourceVersion": "1"},
    "spec": {
        "schedule": "* * * * *",
        "concurrencyPolicy": "Allow",
        "jobTemplate": {"metadata": {}, "spec": {"template": {"metadata": {}, "spec": POD}}},
    },
    "status": {},
}
INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
RULE = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
POLICY = "spec.podFailurePolicy.rules[0]"
JOBS: dict[str, tuple[Object, list[str]]] = {
    "valid": ({}, []),
    "indexed": ({**INDEXED, "backoffLimitPerIndex": 1, "maxFailedIndexes": 2}, []),
    "restarts for ever": (
        {"template": {"spec": {"restartPolicy": "Always"}}},
        ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ),
    "negative": (
        {"parallelism": -1},
        ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "mode": (
        {"completionMode": "Sorted"},
        ['spec.completionMode: Unsupported value: "Sorted": supported values: "NonIndexed", "Indexed"'],
    ),
    "indexed without completions": (
        {"completionMode": "Indexed", "completions": None},
        ["spec.completions: Required value: when completion mode is Indexed"],
    ),
    "limit per index": (
        {"backoffLimitPerIndex": 1},
        ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
    ),
    "failed indexes": (
        {**INDEXED, "maxFailedIndexes": 4},
        [
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            "spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions",
        ],
    ),
    "manager": (
        {"managedBy": "me"},
        ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
    "empty rule": (
        {"podFailurePolicy": {"rules": [{}]}},
        [
            f'{POLICY}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
            f"{POLICY}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        ],
    ),
    "exit codes": (
        {"podFailurePolicy": {"rules": [{**RULE, "onExitCodes": {"operator": "In", "values": [2, 0, 2]}}]}},
        [
            f"{POLICY}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
            f"{POLICY}.onExitCodes.values[2]: Duplicate value: 2",
            f"{POLICY}.onExitCodes.values: Invalid value: [2,0,2]: must be ordered",
        ],
    ),
    "rule with restarts": (
        {"podFailurePolicy": {"rules": [RULE]}, "template": {"spec": {"restartPolicy": "OnFailure"}}},
        [
            'spec.template.spec.restartPolicy: Invalid value: "OnFailure": '
            'only "Never" is supported when podFailurePolicy is specified'
        ],
    ),
    "success of the unindexed": (
        {"successPolicy": {"rules": [{"succeededCount": 1}]}},
        [
            'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: '
            "requires indexed completion mode"
        ],
    ),
    "success": (
        {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "0-9", "succeededCount": 5}]}},
        [
            'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-9": '
            'error parsing succeededIndexes: too large index: "9"',
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 5: "
            "must be less than or equal to 3 (the number of specified completions)",
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 5: must be less than or equal to 0 "
            "(the number of indexes in the specified succeededIndexes field)",
        ],
    ),
    "labels of another": (
        {"template": {"metadata": {"labels": {"job-name": "k"}}}},
        [
            "spec.template.metadata.labels[job-name]: Invalid value: "
            '{"batch.kubernetes.io/controller-uid":"u",'
            '"batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"k"}: must be \'j\''
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), JOBS.values(), ids=JOBS)
def test_a_job_is_judged(created: Any, spec: Object, expected: list[str]) -> None:
    assert created("batch", "Job", JOB, {"spec": spec}) == expected


def test_pods_of_an_indexed_job_must_be_nameable(created: Any) -> None:
    name = "j" * 62
    labels = {"job-name": name, "batch.kubernetes.io/job-name": name}
    patch = {"metadata": {"name": name}, "spec": {**INDEXED, "template": {"metadata": {"labels": labels}}}}
    assert created("batch", "Job", JOB, patch) == [
        f'metadata.name: Invalid value: "{name}": '
        f"will not able to create pod with invalid DNS label: {name}-2"
    ]


JOB_UPDATES: dict[str, tuple[Object, list[str]]] = {
    "parallelism": ({"parallelism": 5}, []),
    "tandem": (
        {"completionMode": "Indexed", "completions": 4},
        [
            "spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism",
            'spec.completionMode: Invalid value: "Indexed": field is immutable',
        ],
    ),
    "completions": ({"completions": 2}, ["spec.completions: Invalid value: 2: field is immutable"]),
    "mode": (INDEXED, ['spec.completionMode: Invalid value: "Indexed": field is immutable']),
}


@pytest.mark.parametrize(("spec", "expected"), JOB_UPDATES.values(), ids=JOB_UPDATES)
def test_an_update_of_a_job_is_judged(updated: Any, spec: Object, expected: list[str]) -> None:
    assert updated("batch", "Job", JOB, {"spec": spec}) == expected


def test_a_template_shows_itself_whole_when_it_may_not_change(updated: Any) -> None:
    patch = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    (error,) = updated("batch", "Job", JOB, patch)
    assert error.startswith(
        'spec.template: Invalid value: {"labels":{"batch.kubernetes.io/controller-uid":"u",'
    )
    assert '"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c",' in error
    assert error.endswith(": field is immutable")


def test_a_suspended_job_may_be_tuned(updated: Any) -> None:
    job = deepcopy(JOB)
    job["spec"]["suspend"] = True
    tuned = {"spec": {"nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {}}}}
    assert updated("batch", "Job", job, {"spec": {"template": tuned}}) == []
    other = {"spec": {"hostname": "h"}}
    (error,) = updated("batch", "Job", job, {"spec": {"template": other}})
    assert error.startswith("spec.template.spec: Invalid value: {")


COMPLETE = {"type": "Complete", "status": "True"}
FAILED = {"type": "Failed", "status": "True"}
MET = {"type": "SuccessCriteriaMet", "status": "True"}
START = "2024-01-01T00:00:00Z"
END = "2024-01-01T00:01:00Z"
STATUSES: dict[str, tuple[Object, Object, list[str]]] = {
    "done": ({}, {"startTime": START, "completionTime": END, "conditions": [MET, COMPLETE]}, []),
    "done without times": (
        {},
        {"conditions": [MET, COMPLETE]},
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.startTime: Required value: startTime is required for finished job",
        ],
    ),
    "failed without target": (
        {},
        {"startTime": START, "conditions": [FAILED]},
        [
            "status.conditions: Invalid value: "
            "cannot set Failed=True condition without the FailureTarget=true condition"
        ],
    ),
    "counting down": (
        {"failed": 2},
        {"failed": 1},
        ["status.failed: Invalid value: 1: cannot decrease the failed counter"],
    ),
    "ready before active": (
        {},
        {"ready": 1},
        ["status.ready: Invalid value: 1: cannot set more ready pods than active"],
    ),
    "indexes of the unindexed": (
        {},
        {"completedIndexes": "0"},
        [
            'status.completedIndexes: Invalid value: "0": '
            "cannot set non-empty completedIndexes when non-indexed completion mode"
        ],
    ),
    "not done after all": (
        {"startTime": START, "conditions": [COMPLETE, MET]},
        {"conditions": []},
        [
            "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
        ],
    ),
    "other start": (
        {"startTime": START},
        {"startTime": END},
        [f'status.startTime: Invalid value: "{END}": field is immutable for unsuspended job once set'],
    ),
}


@pytest.mark.parametrize(("before", "status", "expected"), STATUSES.values(), ids=STATUSES)
def test_the_status_of_a_job_is_judged(
    reported: Any, before: Object, status: Object, expected: list[str]
) -> None:
    job = {**deepcopy(JOB), "status": before}
    assert reported("batch", "Job", job, {"status": status}) == expected


CRONS: dict[str, tuple[Object, list[str]]] = {
    "valid": ({"timeZone": "Europe/Berlin"}, []),
    "schedule": (
        {"schedule": "every day"},
        ['spec.schedule: Invalid value: "every day": expected exactly 5 fields, found 2: [every day]'],
    ),
    "no schedule comes last": (
        {"schedule": None, "concurrencyPolicy": "Perhaps"},
        [
            'spec.concurrencyPolicy: Unsupported value: "Perhaps": '
            'supported values: "Allow", "Forbid", "Replace"',
            "spec.schedule: Required value",
        ],
    ),
    "zone in schedule": (
        {"schedule": "TZ=UTC * * * * *"},
        [
            'spec.schedule: Invalid value: "TZ=UTC * * * * *": '
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        ],
    ),
    "unknown zone": (
        {"timeZone": "Moon/Base"},
        ['spec.timeZone: Invalid value: "Moon/Base": unknown time zone Moon/Base'],
    ),
    "empty zone": (
        {"timeZone": ""},
        ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
    ),
    "history": (
        {"failedJobsHistoryLimit": -1},
        ["spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "selector": (
        {"jobTemplate": {"spec": {"selector": {"matchLabels": {"a": "b"}}}}},
        [
            'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: '
            "`selector` will be auto-generated"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CRONS.values(), ids=CRONS)
def test_a_cron_job_is_judged(created: Any, spec: Object, expected: list[str]) -> None:
    assert created("batch", "CronJob", CRON, {"spec": spec}) == expected


def test_a_cron_job_leaves_room_for_the_names_of_its_jobs(created: Any) -> None:
    name = "c" * 53
    assert created("batch", "CronJob", CRON, {"metadata": {"name": name}}) == [
        f'metadata.name: Invalid value: "{name}": must be no more than 52 characters'
    ]
