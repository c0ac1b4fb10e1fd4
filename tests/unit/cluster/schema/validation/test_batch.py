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
    "own selector": ({"manualSelector": True, "selector": {"matchLabels": {"job-name": "j"}}}, []),
    "no selector": (
        {"manualSelector": None, "selector": None},
        [
            "spec.selector: Required value",
            'spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"u",'
            '"batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"j"}: `selector` does not match '
            "template `labels`",
        ],
    ),
    "good manager": ({"managedBy": "example.com/mine"}, []),
    "manager of a wrong host": (
        {"managedBy": "Ex_ample/mine"},
        [
            'spec.managedBy: Invalid value: "Ex_ample": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ],
    ),
    "manager of a wrong path": (
        {"managedBy": "example.com/a b"},
        [
            'spec.managedBy: Invalid value: "a b": Invalid path (regex used for validation is '
            r"'[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"
        ],
    ),
    "many indexes": ({**INDEXED, "completions": 100_001}, []),
    "many indexes with limits": (
        {
            **INDEXED,
            "completions": 100_001,
            "backoffLimitPerIndex": 1,
            "maxFailedIndexes": 10_000,
            "parallelism": 10_000,
        },
        [],
    ),
    "many indexes without limit": (
        {**INDEXED, "completions": 100_001, "backoffLimitPerIndex": 1},
        ["spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"],
    ),
    "many indexes at once": (
        {
            **INDEXED,
            "completions": 100_001,
            "backoffLimitPerIndex": 1,
            "maxFailedIndexes": 10_001,
            "parallelism": 10_001,
        },
        [
            f"spec.{field}: Invalid value: 10001: must be less than or equal to 10000 when completions are above "
            "100000 and used with backoff limit per index"
            for field in ("parallelism", "maxFailedIndexes")
        ],
    ),
    "exit codes of its containers": (
        {
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "FailJob",
                        "onExitCodes": {"operator": "In", "values": [1], "containerName": "c"},
                    }
                ]
            }
        },
        [],
    ),
    "exit codes of another container": (
        {
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "FailJob",
                        "onExitCodes": {"operator": "In", "values": [1], "containerName": "x"},
                    }
                ]
            }
        },
        [
            f'{POLICY}.onExitCodes.containerName: Invalid value: "x": must be one of the container or '
            "initContainer names in the pod template"
        ],
    ),
    "success by count": ({**INDEXED, "successPolicy": {"rules": [{"succeededCount": 3}]}}, []),
    "success by indexes": ({**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "0-2"}]}}, []),
    "success by both": (
        {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "0,2", "succeededCount": 2}]}},
        [],
    ),
    "more successes than indexes": (
        {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "0,2", "succeededCount": 3}]}},
        [
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the "
            "number of indexes in the specified succeededIndexes field)"
        ],
    ),
    "success of nothing": (
        {**INDEXED, "successPolicy": {"rules": [{}]}},
        [
            "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must "
            "be specified"
        ],
    ),
    "falling indexes": (
        {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "2-1"}]}},
        [
            'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "2-1": error parsing succeededIndexes: '
            "non-increasing order, previous: 2, current: 1"
        ],
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


def suspended(conditions: list[Object] | None = None, **status: Any) -> Object:
    job = deepcopy(JOB)
    job["spec"]["suspend"] = True
    return {**job, "status": {**status, **({"conditions": conditions} if conditions else {})}}


TUNED = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}


@pytest.mark.parametrize(
    ("job", "allowed"),
    [
        pytest.param(suspended(), True, id="never started"),
        pytest.param(
            suspended([{"type": "Suspended", "status": "True"}], startTime="2024-01-01T00:00:00Z"),
            True,
            id="suspended",
        ),
        pytest.param(suspended(startTime="2024-01-01T00:00:00Z"), False, id="not yet suspended"),
        pytest.param(suspended(active=1), False, id="with pods"),
    ],
)
def test_only_an_idle_job_may_be_tuned(updated: Any, job: Object, allowed: bool) -> None:
    assert (updated("batch", "Job", job, TUNED) == []) is allowed


@pytest.mark.parametrize(
    ("pod", "allowed"),
    [
        pytest.param({"affinity": {"nodeAffinity": {}}}, True, id="node affinity"),
        pytest.param({"affinity": {"podAffinity": {}}}, False, id="pod affinity"),
        pytest.param({"affinity": {}}, True, id="empty affinity"),
        pytest.param(
            {"containers": [{**POD["containers"][0], "resources": {"requests": {"cpu": "1"}}}]},
            True,
            id="resources",
        ),
        pytest.param({"containers": [{**POD["containers"][0], "image": "x"}]}, False, id="image"),
        pytest.param({"containers": [{**POD["containers"][0], "name": "x"}]}, False, id="name"),
        pytest.param(
            {"containers": [POD["containers"][0], {**POD["containers"][0], "name": "x"}]},
            False,
            id="one more",
        ),
    ],
)
def test_what_of_a_template_may_be_tuned(updated: Any, pod: Object, allowed: bool) -> None:
    assert (updated("batch", "Job", suspended(), {"spec": {"template": {"spec": pod}}}) == []) is allowed


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
    "fewer active than none, of which nothing is said to be ready": (
        {},
        {"active": -1},
        ["status.active: Invalid value: -1: must be greater than or equal to 0"],
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
    "pods without uid": (
        {},
        {"uncountedTerminatedPods": {"succeeded": ["", "u"], "failed": ["u"]}},
        [
            'status.uncountedTerminatedPods.succeeded[0]: Invalid value: "": must not be empty',
            'status.uncountedTerminatedPods.failed[0]: Duplicate value: "u"',
        ],
    ),
    "failed and done": (
        {"startTime": START, "completionTime": END, "conditions": [MET, COMPLETE]},
        {"conditions": [MET, COMPLETE, FAILED]},
        [
            "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
            "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true "
            "condition",
            "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ],
    ),
    "active when done": (
        {},
        {
            "startTime": START,
            "completionTime": END,
            "conditions": [MET, COMPLETE],
            "active": 1,
            "terminating": 1,
        },
        [
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
            "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
        ],
    ),
    "active again": (
        {"startTime": START, "completionTime": END, "conditions": [MET, COMPLETE]},
        {"active": 1, "terminating": 1},
        [
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
            "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
        ],
    ),
    "still active": (
        {
            "startTime": START,
            "completionTime": END,
            "conditions": [MET, COMPLETE],
            "active": 1,
            "terminating": 1,
        },
        {"failed": 1},
        [],
    ),
    "ready and active": ({"ready": 2, "active": 1}, {"failed": 1}, []),
    "fewer active": (
        {"ready": 2, "active": 2},
        {"active": 1},
        ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
    ),
    "forgets successes": (
        {"succeeded": 2},
        {"succeeded": 1},
        ["status.succeeded: Invalid value: 1: cannot decrease the succeeded counter"],
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


PER_INDEX = {**INDEXED, "backoffLimitPerIndex": 1}
INDEXED_STATUSES: dict[str, tuple[Object, Object, Object, list[str]]] = {
    "indexes": (PER_INDEX, {}, {"completedIndexes": "0", "failedIndexes": "1-2"}, []),
    "unreadable": (
        PER_INDEX,
        {},
        {"completedIndexes": "x", "failedIndexes": "3"},
        [
            'status.completedIndexes: Invalid value: "x": error parsing completedIndexes: cannot convert string to '
            'integer for index: "x"',
            'status.failedIndexes: Invalid value: "3": error parsing failedIndexes: too large index: "3"',
        ],
    ),
    "unreadable as before": (PER_INDEX, {"completedIndexes": "x", "failedIndexes": "y"}, {"failed": 1}, []),
    "not per index": (
        INDEXED,
        {},
        {"failedIndexes": "1"},
        [
            'status.failedIndexes: Invalid value: "1": cannot set non-null failedIndexes when backoffLimitPerIndex '
            "is null"
        ],
    ),
    "overlap": (
        PER_INDEX,
        {"completedIndexes": "0-1"},
        {"failedIndexes": "1,2"},
        [
            'status.failedIndexes: Invalid value: "1,2": failedIndexes and completedIndexes overlap at index: 1'
        ],
    ),
    "overlap of new successes": (
        PER_INDEX,
        {"failedIndexes": "1"},
        {"completedIndexes": "0-1"},
        ['status.failedIndexes: Invalid value: "1": failedIndexes and completedIndexes overlap at index: 1'],
    ),
    "overlap as before": (PER_INDEX, {"completedIndexes": "0-1", "failedIndexes": "1"}, {"failed": 1}, []),
    "scaled down": (INDEXED, {"succeeded": 2}, {"succeeded": 1}, []),
    "not in step": (
        {**INDEXED, "parallelism": 1},
        {"succeeded": 2},
        {"succeeded": 1},
        ["status.succeeded: Invalid value: 1: cannot decrease the succeeded counter"],
    ),
    "nothing to do": (
        {"suspend": True, "completions": 0},
        {},
        {"completionTime": END, "conditions": [MET, COMPLETE]},
        [],
    ),
    "suspended": (
        {"suspend": True},
        {},
        {"completionTime": END, "conditions": [MET, COMPLETE]},
        ["status.startTime: Required value: startTime is required for finished job"],
    ),
    "policy met": (
        {**INDEXED, "successPolicy": {"rules": [{"succeededCount": 1}]}},
        {},
        {"startTime": START, "completionTime": END, "conditions": [MET, COMPLETE]},
        [],
    ),
    "policy not met": (
        {**INDEXED, "successPolicy": {"rules": [{"succeededCount": 1}]}},
        {},
        {"startTime": START, "completionTime": END, "conditions": [COMPLETE]},
        [
            "status.conditions: Invalid value: cannot set Complete=True condition without the "
            "SuccessCriteriaMet=true condition",
            "status.conditions: Invalid value: cannot set Complete=True for Job with SuccessPolicy unless "
            "SuccessCriteriaMet=True",
        ],
    ),
}


@pytest.mark.parametrize(
    ("spec", "before", "status", "expected"), INDEXED_STATUSES.values(), ids=INDEXED_STATUSES
)
def test_the_status_must_fit_the_spec(
    reported: Any, spec: Object, before: Object, status: Object, expected: list[str]
) -> None:
    job = {**deepcopy(JOB), "status": before}
    job["spec"] |= spec
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


def test_a_zone_that_is_gone_may_stay(updated: Any) -> None:
    old = deepcopy(CRON)
    old["spec"]["timeZone"] = "Moon/Base"
    assert updated("batch", "CronJob", old, {"spec": {"suspend": True}}) == []
    assert updated("batch", "CronJob", old, {"spec": {"timeZone": "Moon/Other"}}) == [
        'spec.timeZone: Invalid value: "Moon/Other": unknown time zone Moon/Other'
    ]


def test_a_cron_job_leaves_room_for_the_names_of_its_jobs(created: Any) -> None:
    name = "c" * 53
    assert created("batch", "CronJob", CRON, {"metadata": {"name": name}}) == [
        f'metadata.name: Invalid value: "{name}": must be no more than 52 characters'
    ]
