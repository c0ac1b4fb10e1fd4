"""Updates of a pod's status."""

from __future__ import annotations

from typing import Any

import pytest

ENDED = {"name": "c", "state": {"terminated": {"exitCode": 0}}}
RUNS = {"name": "c", "state": {"running": {}}}
STATUS = {
    "addresses": ({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, []),
    "condition type": (
        {"conditions": [{"type": "Ready", "status": "True"}, {"type": "-", "status": "True"}]},
        [
            'conditions[1].Type: Invalid value: "-": name part must consist of alphanumeric characters, '
            "'-', '_' or "
            "'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
            "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        ],
    ),
    "quality of service": (
        {"qosClass": "Guaranteed"},
        ['qosClass: Invalid value: "Guaranteed": field is immutable'],
    ),
    "no address": (
        {"podIP": "10.0.0.1"},
        ["podIPs: Invalid value: null: podIP and podIPs must either both be set or both be unset"],
    ),
    "two of a family": (
        {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
        [
            'podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: '
            "may specify no more than one IP for each IP family"
        ],
    ),
    "other host": (
        {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]},
        ['hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`'],
    ),
    "unknown claim": (
        {"resourceClaimStatuses": [{"name": "x"}]},
        [
            'resourceClaimStatuses[0].name: Invalid value: "x": '
            "must match the name of an entry in `spec.resourceClaims`"
        ],
    ),
    "group": (
        {"containerStatuses": [{"name": "c", "user": {"linux": {"uid": 1, "gid": -1}}}]},
        [
            "containerStatuses[0].user.linux.gid: Invalid value: -1: "
            "must be between 0 and 2147483647, inclusive"
        ],
    ),
}


@pytest.mark.parametrize(("status", "expected"), STATUS.values(), ids=STATUS)
def test_a_status_is_judged(
    reported: Any, pod: dict[str, Any], status: dict[str, Any], expected: list[str]
) -> None:
    errors = reported("", "Pod", pod, {"status": status})
    assert [error.removeprefix("status.") for error in errors] == expected


RESTARTS = {
    "always": ({"restartPolicy": "Always"}, 0, True),
    "on failure, failed": ({"restartPolicy": "OnFailure"}, 1, True),
    "on failure, done": ({"restartPolicy": "OnFailure"}, 0, False),
    "never": ({"restartPolicy": "Never"}, 1, False),
}


@pytest.mark.parametrize(("spec", "code", "allowed"), RESTARTS.values(), ids=RESTARTS)
def test_an_ended_container_runs_again_as_its_policy_says(
    reported: Any, pod: dict[str, Any], spec: dict[str, Any], code: int, allowed: bool
) -> None:
    pod["spec"] |= spec
    pod["status"]["containerStatuses"] = [{"name": "c", "state": {"terminated": {"exitCode": code}}}]
    refusal = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    errors = reported("", "Pod", pod, {"status": {"containerStatuses": [RUNS]}})
    assert errors == ([] if allowed else [refusal])


def test_a_bound_pod_is_not_nominated(reported: Any, pod: dict[str, Any]) -> None:
    pod["spec"]["nodeName"] = "n"
    assert reported("", "Pod", pod, {"status": {"nominatedNodeName": "m"}}) == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    ]
