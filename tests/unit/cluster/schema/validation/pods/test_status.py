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


#: A pod whose container uses resources and claims.
USING = {
    "resourceClaims": [{"name": "r", "resourceClaimName": "x"}, {"name": "s", "resourceClaimName": "y"}],
    "volumes": [{"name": "v", "emptyDir": {}}],
}
REQUESTS = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
CLAIMS = {"claims": [{"name": "r"}, {"name": "s", "request": "q"}]}
MAPPING = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "q"}
EXTENDED = {"resourceClaimName": "z", "requestMappings": [MAPPING]}


def allocated(*names: str, **more: Any) -> dict[str, Any]:
    resources = [{"name": name, **more} for name in names]
    return {"containerStatuses": [{"name": "c", "allocatedResourcesStatus": resources}]}


RESOURCES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "allocated resources": (allocated("example.com/gpu", "claim:r", "claim:s/q"), []),
    "other allocated resources": (
        allocated("cpu", "claim:s", "claim:r/q", "claim:x"),
        [
            'containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "cpu": '
            "must match one of the container's resource requests",
            'containerStatuses[0].allocatedResourcesStatus[1].name: Invalid value: "claim:s": '
            "must match one of the container's resource claims as "
            "'claim:<claimName>/<requestName>' when container.resources.claims[*].request is "
            "set or 'claim:<claimName>' when it is empty",
            "containerStatuses[0].allocatedResourcesStatus[2].name: Invalid value: "
            '"claim:r/q": must match one of the container\'s resource claims as '
            "'claim:<claimName>/<requestName>' when container.resources.claims[*].request is "
            "set or 'claim:<claimName>' when it is empty",
            'containerStatuses[0].allocatedResourcesStatus[3].name: Invalid value: "claim:x": '
            "must match one of the container's resource claims as "
            "'claim:<claimName>/<requestName>' when container.resources.claims[*].request is "
            "set or 'claim:<claimName>' when it is empty",
        ],
    ),
    "allocated extended resources": ({"extendedResourceClaimStatus": EXTENDED, **allocated("claim:z/q")}, []),
    "other allocated extended resources": (
        {"extendedResourceClaimStatus": EXTENDED, **allocated("claim:z", "claim:z/r", "claim:y/q")},
        [
            'containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "claim:z": '
            "must match one of the container's resource claims as "
            "'claim:<claimName>/<requestName>' when container.resources.claims[*].request is "
            "set or 'claim:<claimName>' when it is empty",
            "containerStatuses[0].allocatedResourcesStatus[1].name: Invalid value: "
            '"claim:z/r": must match one of the container\'s resource claims as '
            "'claim:<claimName>/<requestName>' when container.resources.claims[*].request is "
            "set or 'claim:<claimName>' when it is empty",
            "containerStatuses[0].allocatedResourcesStatus[2].name: Invalid value: "
            '"claim:y/q": must match one of the container\'s resource claims as '
            "'claim:<claimName>/<requestName>' when container.resources.claims[*].request is "
            "set or 'claim:<claimName>' when it is empty",
        ],
    ),
    "allocated to ephemeral containers": (
        {"ephemeralContainerStatuses": [{"name": "e", "allocatedResourcesStatus": [{"name": "cpu"}]}]},
        [
            "ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be "
            "specified in container status",
        ],
    ),
    "allocated to unknown containers": (
        {"containerStatuses": [{"name": "d", "allocatedResourcesStatus": [{"name": "cpu"}]}]},
        [],
    ),
    "health": (
        allocated(
            "claim:r",
            resources=[
                {"resourceID": "a", "health": "Healthy", "message": "m"},
                {"resourceID": "b", "health": "Unknown"},
            ],
        ),
        [],
    ),
    "no health": (
        allocated(
            "claim:r",
            resources=[
                {"resourceID": "a", "health": "Fine", "message": ""},
                {"resourceID": "a", "health": "Unhealthy"},
            ],
        ),
        [
            "containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: "
            'Unsupported value: "Fine": supported values: "Healthy", "Unhealthy", "Unknown"',
            "containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Required "
            "value: must be non-empty if specified",
            'containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "a"',
        ],
    ),
    "extended claim": ({"extendedResourceClaimStatus": EXTENDED}, []),
    "extended claim of nothing": (
        {"extendedResourceClaimStatus": {"requestMappings": []}},
        [
            "extendedResourceClaimStatus.requestMappings: Required value: at least one "
            "request mapping is required",
            "extendedResourceClaimStatus.resourceClaimName: Required value",
        ],
    ),
    "extended claim of others": (
        {
            "extendedResourceClaimStatus": {
                "resourceClaimName": "Z_",
                "requestMappings": [
                    {**MAPPING, "containerName": "d"},
                    {**MAPPING, "resourceName": "example.com/fpga"},
                    {**MAPPING, "requestName": "Q"},
                ],
            }
        },
        [
            "extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "
            '"d": must match the name of an entry in spec.initContainers.name or '
            "spec.containers.name",
            "extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: "
            '"example.com/fpga": must match the extended resource name of an entry in '
            "spec.initContainers.resources.requests or spec.containers.resources.requests",
            'extendedResourceClaimStatus.requestName: Invalid value: "Q": a lowercase RFC '
            "1123 label must consist of lower case alphanumeric characters or '-', and must "
            "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
            "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            'extendedResourceClaimStatus.resourceClaimName: Invalid value: "Z_": a lowercase '
            "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
            "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
            "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\."
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    ),
    "extended claim twice": (
        {"extendedResourceClaimStatus": {"resourceClaimName": "z", "requestMappings": [MAPPING, MAPPING]}},
        [
            'extendedResourceClaimStatus.requestMappings[1].containerName: Duplicate value: "c"',
            'extendedResourceClaimStatus.requestMappings[1].resourceName: Duplicate value: "example.com/gpu"',
            'extendedResourceClaimStatus.requestMappings[1].requestName: Duplicate value: "q"',
        ],
    ),
    "health of volumes": ({"volumeHealth": [{"name": "v", "healthConditions": [{"reason": "Fine"}]}]}, []),
    "health of other volumes": (
        {"volumeHealth": [{"name": "w", "healthConditions": [{"reason": "-"}]}]},
        [
            'volumeHealth[0].name: Not found: "w"',
            'volumeHealth[0].healthConditions[0].reason: Invalid value: "-": a condition '
            "reason must start with alphabetic character, optionally followed by a string of "
            "alphanumeric characters or '_,:', and must end with an alphanumeric character or "
            "'_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or "
            "'ReasonA:ReasonB', regex used for validation is "
            "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
        ],
    ),
}


@pytest.mark.parametrize(("status", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_reported_resources_are_those_of_the_spec(
    reported: Any, pod: dict[str, Any], status: dict[str, Any], expected: list[str]
) -> None:
    pod["spec"] |= USING
    pod["spec"]["containers"][0]["resources"] = {**REQUESTS, **CLAIMS}
    errors = reported("", "Pod", pod, {"status": status})
    assert [error.removeprefix("status.") for error in errors] == expected


RULE = {"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}
RULES: dict[str, tuple[dict[str, Any], int, bool]] = {
    "no policy": ({"restartPolicyRules": [{"action": "Restart"}]}, 3, False),
    "code": ({"restartPolicy": "Never", "restartPolicyRules": [RULE]}, 3, True),
    "other code": ({"restartPolicy": "Never", "restartPolicyRules": [RULE]}, 4, False),
    "any but": (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"exitCodes": {"operator": "NotIn", "values": [3]}}],
        },
        4,
        True,
    ),
    "none but": (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"exitCodes": {"operator": "NotIn", "values": [3]}}],
        },
        3,
        False,
    ),
    "unknown operator": (
        {"restartPolicy": "Never", "restartPolicyRules": [{"exitCodes": {"operator": "Odd", "values": [3]}}]},
        3,
        False,
    ),
    "all": ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "RestartAllContainers"}]}, 0, True),
    "own policy": ({"restartPolicy": "OnFailure"}, 1, True),
    "own policy without failure": ({"restartPolicy": "OnFailure"}, 0, False),
}


@pytest.mark.parametrize(("fields", "code", "allowed"), RULES.values(), ids=RULES)
def test_an_ended_container_runs_again_as_its_rules_say(
    reported: Any, pod: dict[str, Any], fields: dict[str, Any], code: int, allowed: bool
) -> None:
    pod["spec"]["restartPolicy"] = "Never"
    pod["spec"]["containers"][0] |= fields
    pod["status"]["containerStatuses"] = [{"name": "c", "state": {"terminated": {"exitCode": code}}}]
    errors = reported("", "Pod", pod, {"status": {"containerStatuses": [RUNS]}})
    forbidden = (
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    )
    assert errors == ([] if allowed else [forbidden])


def test_an_ephemeral_container_runs_once(reported: Any, pod: dict[str, Any]) -> None:
    pod["spec"]["containers"][0]["restartPolicyRules"] = [{"action": "RestartAllContainers"}]
    pod["status"]["ephemeralContainerStatuses"] = [ENDED]
    assert reported("", "Pod", pod, {"status": {"ephemeralContainerStatuses": [ENDED]}}) == []
    assert reported("", "Pod", pod, {"status": {"ephemeralContainerStatuses": [RUNS]}}) == [
        "status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    ]


def test_what_was_reported_wrong_may_stay(reported: Any, pod: dict[str, Any]) -> None:
    pod["status"] |= {"podIP": "x", "podIPs": [{"ip": "x"}], "nominatedNodeName": "N_"}
    assert reported("", "Pod", pod, {"status": {"message": "m"}}) == []
    (error,) = reported("", "Pod", pod, {"status": {"podIP": "y", "podIPs": [{"ip": "y"}]}})
    assert error.startswith('status.podIPs[0]: Invalid value: "y": must be a valid IP address')
    (error,) = reported("", "Pod", pod, {"status": {"nominatedNodeName": "M_"}})
    assert error.startswith('status.nominatedNodeName: Invalid value: "M_"')
