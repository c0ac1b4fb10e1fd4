"""What each level finds in a pod, and since which version."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.pod_security.evaluation import evaluate
from steersman.cluster.admission.pod_security.levels import LevelVersion, NamespacePolicy, policy_of

from .conftest import Object

PREFIX = "pod-security.kubernetes.io/"


def found(level: str, spec: Object, minor: int | None = None, **annotations: str) -> str:
    findings = evaluate(LevelVersion(level, minor), {"annotations": annotations}, spec)
    return ", ".join(map(str, findings))


def context(name: str = "c", **security: Any) -> Object:
    return {"name": name, "securityContext": security}


def containers(*given: Object, **spec: Any) -> Object:
    return {"containers": [*given], **spec}


def hardened(**rest: Any) -> Object:
    """A pod that every level lets in."""
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return containers(context(**security), **rest)


BASELINE: list[tuple[str, Object, str]] = [
    ("privileged", containers(context("d", privileged=True), context("e", privileged=True)),
     'privileged (containers "d", "e" must not set securityContext.privileged=true)'),
    ("capabilities", containers(context(capabilities={"add": ["SYS_TIME", "CHOWN", "NET_RAW"]})),
     'non-default capabilities (container "c" must not include "NET_RAW", "SYS_TIME" in '
     "securityContext.capabilities.add)"),
    ("host namespaces", containers(hostNetwork=True, hostPID=True, hostIPC=True),
     "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"),
    ("host path", containers(volumes=[{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "hostPath": {}}]),
     'hostPath volumes (volumes "a", "b")'),
    ("host port", containers({"name": "b", "ports": [{"containerPort": 1}, {"hostPort": 20}]}),
     'hostPort (container "b" uses hostPort 20)'),
    ("host ports", containers({"name": "b", "ports": [{"hostPort": 10}, {"hostPort": 20}]},
                              {"name": "c", "ports": [{"hostPort": 10}, {"hostPort": 30}]}),
     'hostPort (containers "b", "c" use hostPorts 10, 20, 30)'),
    ("probes", containers({"name": "a", "livenessProbe": {"httpGet": {"host": "127.0.0.1"}},
                           "lifecycle": {"preStop": {"tcpSocket": {"host": "::1"}}}}),
     'probe or lifecycle host (container "a" uses probe or lifecycle hosts "127.0.0.1", "::1")'),
    ("proc mount", containers(context(procMount="Unmasked")),
     'procMount (container "c" must not set securityContext.procMount to "Unmasked")'),
    ("selinux", containers(context("e", seLinuxOptions={"type": "bar"}), context("f", seLinuxOptions={"user": "u"}),
                           securityContext={"seLinuxOptions": {"type": "foo", "role": "r"}}),
     'seLinuxOptions (pod and containers "e", "f" set forbidden securityContext.seLinuxOptions: types "bar", '
     '"foo"; user may not be set; role may not be set)'),
    ("seccomp", containers(context(seccompProfile={"type": "Unconfined"})),
     'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")'),
    ("sysctls", containers(securityContext={"sysctls": [{"name": "a"}, {"name": "net.ipv4.tcp_rmem"}]}),
     "forbidden sysctls (a)"),
    ("app armor", containers(context(appArmorProfile={"type": "Unconfined"}),
                             securityContext={"appArmorProfile": {"type": "Unconfined"}}),
     'forbidden AppArmor profile (pod and container "c" must not set AppArmor profile type to "Unconfined")'),
    ("host process", containers(securityContext={"windowsOptions": {"hostProcess": True}}),
     "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "expected"), [case[1:] for case in BASELINE], ids=[case[0] for case in BASELINE]
)
def test_baseline_finds(spec: Object, expected: str) -> None:
    assert found("baseline", spec) == expected
    assert found("privileged", spec) == ""


@pytest.mark.parametrize("field", ["initContainers", "ephemeralContainers"])
def test_every_kind_of_container_is_looked_at(field: str) -> None:
    spec = {"containers": [context("b")], field: [context("a", privileged=True)]}
    assert '(container "a" must not' in found("baseline", spec)


RESTRICTED: list[tuple[str, Object, str]] = [
    ("capabilities", hardened(initContainers=[
        context("i", allowPrivilegeEscalation=False, runAsNonRoot=True, seccompProfile={"type": "Localhost"},
                capabilities={"drop": ["all"], "add": ["CHOWN", "NET_BIND_SERVICE"]})]),
     'unrestricted capabilities (container "i" must set securityContext.capabilities.drop=["ALL"]; container '
     '"i" must not include "CHOWN" in securityContext.capabilities.add)'),
    ("volumes", hardened(volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {}},
                                  {"name": "c", "nfs": {}}, {"name": "d"}]),
     'restricted volume types (volumes "b", "c", "d" use restricted volume types "hostPath", "nfs", '
     '"unknown")'),
    ("root", hardened(securityContext={"runAsNonRoot": False}),
     "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)"),
    ("root user", hardened(securityContext={"runAsUser": 0}), "runAsUser=0 (pod must not set runAsUser=0)"),
    ("seccomp", hardened(securityContext={"seccompProfile": {"type": "Unconfined"}}),
     'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "expected"), [case[1:] for case in RESTRICTED], ids=[case[0] for case in RESTRICTED]
)
def test_restricted_finds(spec: Object, expected: str) -> None:
    assert found("restricted", spec) == expected


def test_a_plain_pod_is_told_everything_in_order() -> None:
    assert found("restricted", containers({"name": "c"})) == (
        'allowPrivilegeEscalation != false (container "c" must set '
        "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
        '"c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" '
        'must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set '
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )
    assert found("baseline", containers({"name": "c"})) == ""


def test_what_the_pod_says_counts_for_silent_containers() -> None:
    spec = hardened(securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "Localhost"}})
    for name in ("runAsNonRoot", "seccompProfile"):
        del spec["containers"][0]["securityContext"][name]
    assert found("restricted", spec) == ""


@pytest.mark.parametrize(
    ("level", "spec", "minor", "finds"),
    [
        ("restricted", containers({"name": "c"}), 7, "runAsNonRoot"),
        ("restricted", containers({"name": "c"}), 8, "allowPrivilegeEscalation"),
        ("restricted", containers({"name": "c"}, os={"name": "windows"}), 24, "unrestricted capabilities"),
        ("baseline", containers(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}), 31, "sysctls"),
        ("baseline", containers(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}), 32, ""),
        ("baseline", containers(securityContext={"sysctls": [{"name": "net.ipv4.tcp_notsent_lowat"}]}), 36, "sysctls"),
        ("baseline", containers(securityContext={"sysctls": [{"name": "net.ipv4.tcp_notsent_lowat"}]}), 99, ""),
        ("baseline", containers(context(seLinuxOptions={"type": "container_engine_t"})), 30, "seLinux"),
        ("baseline", containers(context(seLinuxOptions={"type": "container_engine_t"})), 31, ""),
        ("baseline", containers({"name": "c", "startupProbe": {"httpGet": {"host": "x"}}}), 33, ""),
        ("baseline", containers({"name": "c", "startupProbe": {"httpGet": {"host": "x"}}}), 34, "probe"),
        ("baseline", containers(context(procMount="Unmasked"), hostUsers=False), 34, "procMount"),
        ("baseline", containers(context(procMount="Unmasked"), hostUsers=False), 35, ""),
        ("baseline", containers(context(seccompProfile={"type": "Unconfined"})), 18, ""),
        ("baseline", containers(context(seccompProfile={"type": "Unconfined"})), 19, "seccomp"),
        ("restricted", hardened(hostUsers=False, securityContext={"runAsUser": 0}), 34, "runAsUser"),
        ("restricted", hardened(hostUsers=False, securityContext={"runAsUser": 0}), 35, ""),
        ("restricted", hardened(securityContext={"runAsUser": 0}), 22, ""),
    ],
)  # fmt: skip
def test_rules_came_and_went_with_versions(level: str, spec: Object, minor: int, finds: str) -> None:
    text = found(level, spec, minor)
    assert finds in text
    assert bool(text) is bool(finds)


def test_restricted_keeps_proc_masked_in_user_namespaces() -> None:
    spec = hardened(hostUsers=False)
    spec["containers"][0]["securityContext"]["procMount"] = "Unmasked"
    assert found("restricted", spec).startswith("procMount (container")


def test_windows_pods_cannot_say_what_linux_pods_must() -> None:
    spec = containers({"name": "c"}, os={"name": "windows"}, securityContext={"runAsNonRoot": True})
    assert found("restricted", spec) == ""


def test_old_annotations() -> None:
    app_armor = "container.apparmor.security.beta.kubernetes.io/"
    assert found("baseline", {}, **{app_armor + "a": "localhost/x", app_armor + "b": "runtime/default"}) == ""
    assert found("baseline", {}, **{app_armor + "e": "unconfined", app_armor + "f": "unknown"}) == (
        "forbidden AppArmor profiles (annotations must not set AppArmor profile type to "
        f'"{app_armor}e="unconfined"", "{app_armor}f="unknown"")'
    )
    seccomp = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    assert found("baseline", {}, 18, **seccomp) == (
        'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")'
    )
    assert found("baseline", {}, 19, **seccomp) == ""
    for profile in ("runtime/default", "docker/default", "localhost/mine"):
        assert found("baseline", {}, 18, **dict.fromkeys(seccomp, profile)) == ""


def test_the_stricter_of_two_checks_speaks_for_both() -> None:
    path = hardened(volumes=[{"name": "v", "hostPath": {"path": "/"}}])
    assert found("restricted", path).startswith("restricted volume types")
    assert "hostPath volumes" not in found("restricted", path)
    # The stricter one came later.
    adding = containers(context(capabilities={"add": ["SYS_TIME"]}))
    assert "non-default capabilities" in found("restricted", adding, 20)
    assert "non-default capabilities" not in found("restricted", adding, 22)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, "privileged:latest privileged:latest privileged:latest"),
        ({"enforce": "restricted"}, "restricted:latest privileged:latest restricted:latest"),
        (
            {"enforce": "baseline", "enforce-version": "v1.20"},
            "baseline:v1.20 privileged:latest baseline:v1.20",
        ),
        (
            {"enforce": "baseline", "warn": "privileged"},
            "baseline:latest privileged:latest privileged:latest",
        ),
        (
            {"enforce": "baseline", "enforce-version": "v1.20", "warn-version": "v1.21"},
            "baseline:v1.20 privileged:latest baseline:v1.21",
        ),
        (
            {"audit": "restricted", "audit-version": "v1.7"},
            "privileged:latest restricted:v1.7 privileged:latest",
        ),
        ({"enforce": "none"}, "restricted:latest privileged:latest privileged:latest"),
        ({"audit": "none", "warn": "none"}, "privileged:latest privileged:latest privileged:latest"),
        ({"warn": "baseline", "warn-version": "1.20"}, "privileged:latest privileged:latest baseline:latest"),
    ],
    ids=str,
)
def test_labels_make_a_policy(labels: dict[str, str], expected: str) -> None:
    policy, errors = policy_of({PREFIX + key: value for key, value in labels.items()}, NamespacePolicy())
    assert " ".join(map(str, policy)) == expected
    assert bool(errors) is any(value in ("none", "1.20") for value in labels.values())


def test_label_errors_name_the_label() -> None:
    labels = {PREFIX + "enforce": "x", PREFIX + "warn-version": "v2.0", "other": "x"}
    _, errors = policy_of(labels, NamespacePolicy())
    assert list(map(str, errors)) == [
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, '
        "baseline, restricted",
        'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "v2.0": must be "latest" or '
        '"v1.x"',
    ]
