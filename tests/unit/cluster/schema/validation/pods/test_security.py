"""Security contexts of pods and containers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Errors = Callable[[Object], list[str]]

CONTAINER = {
    "name": "c",
    "image": "nginx",
    "resources": {},
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}


def pod_wide(**context: Any) -> Object:
    return {"securityContext": context}


def own(**context: Any) -> Object:
    return {"containers": [{**CONTAINER, "securityContext": context}]}


def windows(**options: Any) -> Object:
    return {"securityContext": {"windowsOptions": options}}


CASES: dict[str, tuple[Object, list[str]]] = {
    "unmasked": ({"hostUsers": False, **own(procMount="Unmasked")}, []),
    "unmasked with the users of the host": (
        own(procMount="Unmasked"),
        [
            'containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` '
            "must be false to use `Unmasked`",
        ],
    ),
    "default mount": (own(procMount="Default"), []),
    "other mount": (
        own(procMount="Half"),
        [
            'containers[0].securityContext.procMount: Unsupported value: "Half": supported '
            'values: "Default", "Unmasked"',
        ],
    ),
    "change of groups": (pod_wide(fsGroupChangePolicy="OnRootMismatch"), []),
    "other change of groups": (
        pod_wide(fsGroupChangePolicy="Sometimes"),
        [
            'securityContext.fsGroupChangePolicy: Unsupported value: "Sometimes": supported '
            'values: "Always", "OnRootMismatch"',
        ],
    ),
    "kernel parameters": (
        {
            "hostNetwork": True,
            "hostIPC": True,
            **pod_wide(sysctls=[{"name": "kernel.pid_max"}, {"name": "vm/swappiness"}]),
        },
        [],
    ),
    "network parameters": (
        pod_wide(sysctls=[{"name": "net.core.somaxconn"}, {"name": "net/ipv4/conf/eth0.1/x"}]),
        [],
    ),
    "parameters of the host": (
        {
            "hostNetwork": True,
            "hostIPC": True,
            **pod_wide(
                sysctls=[
                    {"name": "net.core.somaxconn"},
                    {"name": "net/core.x/y"},
                    {"name": "kernel.shmmax"},
                    {"name": "fs.mqueue.msg_max"},
                    {"name": "kernel/sem"},
                ]
            ),
        },
        [
            'securityContext.sysctls[0].name: Invalid value: "net.core.somaxconn": may not be '
            "specified when 'hostNetwork' is true",
            'securityContext.sysctls[1].name: Invalid value: "net/core.x/y": may not be '
            "specified when 'hostNetwork' is true",
            'securityContext.sysctls[2].name: Invalid value: "kernel.shmmax": may not be '
            "specified when 'hostIPC' is true",
            'securityContext.sysctls[3].name: Invalid value: "fs.mqueue.msg_max": may not be '
            "specified when 'hostIPC' is true",
            'securityContext.sysctls[4].name: Invalid value: "kernel/sem": may not be '
            "specified when 'hostIPC' is true",
        ],
    ),
    "inter-process parameters": (
        pod_wide(sysctls=[{"name": "kernel.shmmax"}, {"name": "fs.mqueue.msg_max"}]),
        [],
    ),
    "parameters twice": (
        pod_wide(sysctls=[{"name": "a.b"}, {"name": "a.b"}, {"name": ""}, {"name": "A"}]),
        [
            'securityContext.sysctls[1].name: Duplicate value: "a.b"',
            "securityContext.sysctls[2].name: Required value",
            'securityContext.sysctls[3].name: Invalid value: "A": must have at most 253 '
            "characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\."
            "/])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
        ],
    ),
    "app armor": (pod_wide(appArmorProfile={"type": "Localhost", "localhostProfile": "mine"}), []),
    "app armor by default": (own(appArmorProfile={"type": "RuntimeDefault"}), []),
    "app armor without profile": (
        pod_wide(appArmorProfile={"type": "Localhost"}),
        [
            "securityContext.appArmorProfile.localhostProfile: Required value: must be set "
            "when AppArmor type is Localhost",
        ],
    ),
    "app armor padded": (
        pod_wide(appArmorProfile={"type": "Localhost", "localhostProfile": " mine"}),
        [
            'securityContext.appArmorProfile.localhostProfile: Invalid value: " mine": must '
            "not be padded with whitespace",
        ],
    ),
    "app armor too long": (
        pod_wide(appArmorProfile={"type": "Localhost", "localhostProfile": "x" * 4096}),
        [
            "securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes",
        ],
    ),
    "app armor of no type": (
        pod_wide(appArmorProfile={}),
        [
            "securityContext.appArmorProfile.type: Required value: type is required when "
            "appArmorProfile is set",
        ],
    ),
    "app armor of another type": (
        pod_wide(appArmorProfile={"type": "Strict"}),
        [
            'securityContext.appArmorProfile.type: Unsupported value: "Strict": supported '
            'values: "Localhost", "RuntimeDefault", "Unconfined"',
        ],
    ),
    "app armor with surplus": (
        pod_wide(appArmorProfile={"type": "Unconfined", "localhostProfile": "mine"}),
        [
            'securityContext.appArmorProfile.localhostProfile: Invalid value: "mine": can '
            "only be set when AppArmor type is Localhost",
        ],
    ),
    "windows user": (
        windows(gmsaCredentialSpecName="a.b", gmsaCredentialSpec="x", runAsUserName="DOMAIN\\User"),
        [],
    ),
    "windows user of a dns domain": (windows(runAsUserName="corp.example.com\\User"), []),
    "windows user alone": (windows(runAsUserName="ContainerUser"), []),
    "windows without user": (
        windows(gmsaCredentialSpecName="A_", gmsaCredentialSpec="", runAsUserName=""),
        [
            'securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value: "A_": a '
            "lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\."
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            'securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": '
            "gmsaCredentialSpec cannot be an empty string",
            'securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName '
            "cannot be an empty string",
        ],
    ),
    "windows user with control characters": (
        windows(runAsUserName="a\x07b"),
        [
            'securityContext.windowsOptions.runAsUserName: Invalid value: "a\\ab": '
            "runAsUserName cannot contain control characters",
        ],
    ),
    "windows user with two domains": (
        windows(runAsUserName="a\\b\\c"),
        [
            'securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": '
            "runAsUserName cannot contain more than one backslash",
        ],
    ),
    "windows user of a wrong domain": (
        windows(runAsUserName="a b.c?d\\User"),
        [
            'securityContext.windowsOptions.runAsUserName: Invalid value: "a b.c?d\\\\User": '
            "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
        ],
    ),
    "windows user of a domain alone": (
        windows(runAsUserName="DOMAIN\\"),
        [
            'securityContext.windowsOptions.runAsUserName: Invalid value: "DOMAIN\\\\": '
            "runAsUserName's User cannot be empty",
        ],
    ),
    "windows user too long": (
        windows(runAsUserName="x" * 105),
        [
            "securityContext.windowsOptions.runAsUserName: Invalid value: "
            '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": '
            "runAsUserName's User length must not be longer than 104 characters",
        ],
    ),
    "windows user of dots": (
        windows(runAsUserName=". ."),
        [
            'securityContext.windowsOptions.runAsUserName: Invalid value: ". .": '
            "runAsUserName's User cannot contain only periods or spaces",
        ],
    ),
    "windows user of odd characters": (
        windows(runAsUserName="a=b"),
        [
            'securityContext.windowsOptions.runAsUserName: Invalid value: "a=b": '
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
        ],
    ),
    "windows options on linux": (
        {"os": {"name": "linux"}, **own(windowsOptions={})},
        [
            "containers[0].securityContext.windowsOptions: Forbidden: windows options cannot "
            "be set for a linux pod",
        ],
    ),
    "no windows options on linux": ({"os": {"name": "linux"}, **own(runAsUser=1)}, []),
    "host process": ({"hostNetwork": True, **windows(hostProcess=True)}, []),
    "host process without network": (
        windows(hostProcess=True),
        [
            "hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any "
            "hostProcess containers",
        ],
    ),
    "host process of some": (
        {
            "hostNetwork": True,
            "containers": [
                {**CONTAINER, "securityContext": {"windowsOptions": {"hostProcess": True}}},
                {**CONTAINER, "name": "d"},
            ],
        },
        [
            'spec: Invalid value: "": If pod contains any hostProcess containers then all '
            "containers must be HostProcess containers",
        ],
    ),
    "host process or not": (
        {"hostNetwork": True, **windows(hostProcess=True), **own(windowsOptions={"hostProcess": False})},
        [
            "containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: "
            "pod hostProcess value must be identical if both are specified, was true",
        ],
    ),
    "host process twice": (
        {"hostNetwork": True, **windows(hostProcess=True), **own(windowsOptions={"hostProcess": True})},
        [],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_a_security_context_is_judged(spec_errors: Errors, spec: Object, expected: list[str]) -> None:
    assert spec_errors(spec) == expected


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"gmsaCredentialSpec": "x" * (64 * 1024 + 1)}, "gmsaCredentialSpec size must be under 64 KiB"),
        (
            {"runAsUserName": "x" * 256 + "\\User"},
            "runAsUserName's Domain length must be under 256 characters",
        ),
    ],
    ids=["credentials", "domain"],
)
def test_windows_options_have_their_limits(spec_errors: Errors, options: Object, why: str) -> None:
    assert spec_errors(windows(**options))[0].endswith(why)
