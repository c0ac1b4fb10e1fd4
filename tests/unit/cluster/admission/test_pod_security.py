"""PodSecurity as a plugin: modes, objects, namespaces, exemptions."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission import Attributes
from steersman.cluster.admission.pod_security import Exemptions, PodSecurity
from steersman.cluster.admission.pod_security.levels import LevelVersion, NamespacePolicy
from steersman.cluster.auth.users import User

from .conftest import Object, Stored, write
from .refusals import ask, refused

PREFIX = "pod-security.kubernetes.io/"
PRIVILEGED = {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]}
FINDING = 'privileged (container "c" must not set securityContext.privileged=true)'


def labels(**modes: str) -> dict[str, str]:
    return {PREFIX + mode.replace("_", "-"): value for mode, value in modes.items()}


def namespace(stored: Stored, **modes: str) -> None:
    stored.add("", "namespaces", "default", metadata={"labels": labels(**modes)})


def pod(spec: Object | None = None, **metadata: Any) -> Object:
    return {"metadata": {"name": "a", **metadata}, "spec": spec or PRIVILEGED}


def test_an_enforced_level_refuses_pods(stored: Stored) -> None:
    namespace(stored, enforce="baseline")
    attributes = write("pods", pod())
    error = refused(PodSecurity(stored), attributes)
    assert error.message == f'pods "a" is forbidden: violates PodSecurity "baseline:latest": {FINDING}'
    assert (error.code, error.details) == (403, {"name": "a", "kind": "pods"})
    assert attributes.warnings == []
    assert attributes.annotations == {PREFIX + "enforce-policy": "baseline:latest"}


def test_warnings_and_audit_let_pass(stored: Stored) -> None:
    namespace(stored, warn="baseline", warn_version="v1.30", audit="baseline")
    attributes = ask(PodSecurity(stored), write("pods", pod()))
    assert attributes.warnings == [f'would violate PodSecurity "baseline:v1.30": {FINDING}']
    assert attributes.annotations == {
        PREFIX + "enforce-policy": "privileged:latest",
        PREFIX + "audit-violations": f'would violate PodSecurity "baseline:latest": {FINDING}',
    }


def test_a_namespace_without_labels_lets_everything_pass(stored: Stored) -> None:
    namespace(stored)
    attributes = ask(PodSecurity(stored), write("pods", pod()))
    assert attributes.annotations == {PREFIX + "enforce-policy": "privileged:latest"}


def test_a_label_that_makes_no_sense_enforces_the_strictest(stored: Stored) -> None:
    namespace(stored, enforce="basline")
    attributes = write("pods", pod())
    assert 'violates PodSecurity "restricted:latest"' in refused(PodSecurity(stored), attributes).message
    assert attributes.annotations[PREFIX + "error"] == (
        "Failed to parse policy: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "
        '"basline": must be one of privileged, baseline, restricted'
    )


@pytest.mark.parametrize("plural", ["pods", "replicationcontrollers"])
def test_labels_that_make_no_sense_warn_of_nothing_but_are_noted(stored: Stored, plural: str) -> None:
    namespace(stored, warn="x", audit="y")
    obj = pod() if plural == "pods" else {"spec": {"template": TEMPLATE}}
    attributes = ask(PodSecurity(stored), write(plural, obj))
    assert attributes.warnings == []
    error = attributes.annotations[PREFIX + "error"]
    assert error.startswith("Failed to parse policy: [metadata.labels[")
    assert error.count("must be one of privileged, baseline, restricted") == 2
    assert error.endswith("]")


TEMPLATE = {"metadata": {}, "spec": PRIVILEGED}


@pytest.mark.parametrize(
    ("group", "plural", "obj"),
    [
        ("apps", "deployments", {"spec": {"template": TEMPLATE}}),
        ("apps", "statefulsets", {"spec": {"template": TEMPLATE}}),
        ("apps", "daemonsets", {"spec": {"template": TEMPLATE}}),
        ("apps", "replicasets", {"spec": {"template": TEMPLATE}}),
        ("", "replicationcontrollers", {"spec": {"template": TEMPLATE}}),
        ("", "podtemplates", {"template": TEMPLATE}),
        ("batch", "jobs", {"spec": {"template": TEMPLATE}}),
        ("batch", "cronjobs", {"spec": {"jobTemplate": {"spec": {"template": TEMPLATE}}}}),
    ],
)
def test_what_makes_pods_is_only_warned(stored: Stored, group: str, plural: str, obj: Object) -> None:
    namespace(stored, enforce="baseline")
    plugin = PodSecurity(stored)
    assert plugin.handles("CREATE", group, plural, "")
    assert not plugin.handles("UPDATE", group, plural, "status")
    attributes = ask(plugin, write(plural, obj, group=group))
    assert attributes.warnings == [f'would violate PodSecurity "baseline:latest": {FINDING}']
    assert attributes.annotations == {}


def test_annotations_of_a_template_count(stored: Stored) -> None:
    namespace(stored, enforce="baseline")
    unconfined = {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}
    template = {
        "metadata": {"annotations": unconfined},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    attributes = ask(PodSecurity(stored), write("replicationcontrollers", {"spec": {"template": template}}))
    (warning,) = attributes.warnings
    assert "apparmor" in warning.lower()


def test_a_controller_without_template_is_fine(stored: Stored) -> None:
    namespace(stored, enforce="baseline")
    ask(PodSecurity(stored), write("replicationcontrollers", {"spec": {}}))


@pytest.mark.parametrize(
    ("spec", "matters"),
    [
        (PRIVILEGED, False),
        ({"containers": [{**PRIVILEGED["containers"][0], "image": "j"}]}, True),
        ({**PRIVILEGED, "ephemeralContainers": [{"name": "e", "image": "i"}]}, True),
        ({**PRIVILEGED, "initContainers": [{"name": "e", "image": "i"}]}, True),
    ],
    ids=["same", "image", "ephemeral", "init"],
)
def test_updates_count_when_they_change_what_runs(stored: Stored, spec: Object, matters: bool) -> None:
    namespace(stored, enforce="baseline")
    update = write("pods", pod(spec), operation="UPDATE", old=pod())
    if matters:
        assert refused(PodSecurity(stored), update).code == 403
    else:
        ask(PodSecurity(stored), update)


@pytest.mark.parametrize(("image", "matters"), [("i", False), ("j", True)])
def test_ephemeral_containers_that_stay_do_not_count(stored: Stored, image: str, matters: bool) -> None:
    namespace(stored, enforce="baseline")
    old = pod({**PRIVILEGED, "ephemeralContainers": [{"name": "e", "image": "i"}]})
    new = pod({**PRIVILEGED, "ephemeralContainers": [{"name": "e", "image": image}]})
    update = write("pods", new, operation="UPDATE", subresource="ephemeralcontainers", old=old)
    if matters:
        assert refused(PodSecurity(stored), update).code == 403
    else:
        ask(PodSecurity(stored), update)


@pytest.mark.parametrize(
    ("operation", "subresource", "expected"),
    [
        ("CREATE", "", True),
        ("UPDATE", "ephemeralcontainers", True),
        ("UPDATE", "resize", True),
        ("UPDATE", "status", False),
        ("CREATE", "eviction", False),
        ("CREATE", "binding", False),
        ("DELETE", "", False),
        ("CONNECT", "exec", False),
    ],
)
def test_interest(stored: Stored, operation: str, subresource: str, expected: bool) -> None:
    assert PodSecurity(stored).handles(operation, "", "pods", subresource) is expected
    assert not PodSecurity(stored).handles(operation, "", "services", subresource)


@pytest.mark.parametrize(
    ("exemptions", "reason"),
    [
        (Exemptions(namespaces=frozenset({"default"})), "namespace"),
        (Exemptions(users=frozenset({"root"})), "user"),
        (Exemptions(runtime_classes=frozenset({"kata"})), "runtimeClass"),
    ],
    ids=["namespace", "user", "runtime class"],
)
def test_exemptions(stored: Stored, exemptions: Exemptions, reason: str) -> None:
    namespace(stored, enforce="restricted")
    new = pod({**PRIVILEGED, "runtimeClassName": "kata"})
    plugin = PodSecurity(stored, exemptions=exemptions)
    attributes = ask(plugin, write("pods", new, user=User("root")))
    assert attributes.annotations == {PREFIX + "exempt": reason}


# --- Namespaces


def relabel(new: dict[str, str], old: dict[str, str] | None = None) -> Attributes:
    obj = {"metadata": {"name": "default", "labels": new}}
    rest: Object = {"namespace": "default", "name": "default"}
    if old is not None:
        rest |= {"operation": "UPDATE", "old": {"metadata": {"name": "default", "labels": old}}}
    return write("namespaces", obj, **rest)


def test_labels_must_make_sense(stored: Stored) -> None:
    plugin = PodSecurity(stored)
    error = refused(plugin, relabel(labels(enforce="x")))
    assert error.code == 422
    assert error.message == (
        'Namespace "default" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: '
        '"x": must be one of privileged, baseline, restricted'
    )
    assert refused(plugin, relabel(labels(enforce="x"), {})).code == 422
    # Old mistakes do not stand in the way of other changes.
    ask(plugin, relabel({**labels(enforce="x"), "other": "y"}, labels(enforce="x")))


def add_pod(stored: Stored, name: str, spec: Object, owner: str = "") -> None:
    owners = [{"uid": owner, "controller": True}] if owner else []
    stored.add("", "pods", name, metadata={"ownerReferences": owners}, spec=spec)


def test_a_stricter_namespace_is_warned_about_its_pods(stored: Stored) -> None:
    network = {"containers": [], "hostNetwork": True}
    for name, spec in (("b", PRIVILEGED), ("a", PRIVILEGED), ("d", PRIVILEGED), ("c", network), ("ok", {})):
        add_pod(stored, name, spec)
    attributes = ask(PodSecurity(stored), relabel(labels(enforce="baseline"), {}))
    assert attributes.warnings == [
        'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): privileged",
        "c: host namespaces",
    ]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (labels(enforce="baseline"), labels(enforce="restricted")),
        (labels(enforce="baseline"), labels(enforce="baseline")),
        (labels(enforce="privileged"), labels(enforce="baseline")),
        (labels(warn="restricted"), {}),
    ],
    ids=["relaxed", "same", "privileged", "only warns"],
)
def test_pods_are_not_looked_at_without_need(
    stored: Stored, new: dict[str, str], old: dict[str, str]
) -> None:
    add_pod(stored, "a", PRIVILEGED)
    assert ask(PodSecurity(stored), relabel(new, old)).warnings == []


def test_looking_at_pods_takes_a_second_at_most(stored: Stored) -> None:
    times = iter([0.0, 0.5, 0.5, 0.5, 2.0])
    network = {"containers": [], "hostNetwork": True}
    path = {"containers": [], "volumes": [{"name": "v", "hostPath": {}}]}
    for name, spec in (("a1", PRIVILEGED), ("a2", PRIVILEGED), ("b1", network)):
        add_pod(stored, name, spec, owner=name[0])
    for name in ("x", "y"):
        add_pod(stored, name, path)
    plugin = PodSecurity(stored, clock=lambda: next(times))
    assert ask(plugin, relabel(labels(enforce="baseline"), {})).warnings == [
        "new PodSecurity enforce level only checked against the first 4 of 5 existing pods",
        'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
        # One of each owner comes first, and all that have none.
        "a1: privileged",
        "b1: host namespaces",
        "x (and 1 other pod): hostPath volumes",
    ]


def test_an_exempt_namespace_is_told_that_its_labels_mean_nothing(stored: Stored) -> None:
    plugin = PodSecurity(stored, exemptions=Exemptions(namespaces=frozenset({"default"})))
    expected = [
        'namespace "default" is exempt from Pod Security, and the policy (enforce=restricted:latest, '
        "audit=baseline:v1.20) will be ignored"
    ]
    given = labels(enforce="restricted", audit="baseline", audit_version="v1.20")
    assert ask(plugin, relabel(given)).warnings == expected
    assert ask(plugin, relabel(given, {})).warnings == expected
    assert ask(plugin, relabel({})).warnings == []
    # Nothing gets stricter, so nothing is said.
    laxer = labels(enforce="privileged", enforce_version="v1.20", warn="baseline")
    assert ask(plugin, relabel(laxer, labels(enforce="baseline"))).warnings == []


@pytest.mark.parametrize(
    "given",
    [
        labels(enforce="privileged", audit="privileged", warn="privileged"),
        labels(enforce="baseline", audit="privileged", audit_version="v1.20"),
    ],
    ids=["nothing is asked for", "what holds anyway"],
)
def test_an_exempt_namespace_is_not_told_what_makes_no_difference(
    stored: Stored, given: dict[str, str]
) -> None:
    defaults = NamespacePolicy(enforce=LevelVersion("baseline"), warn=LevelVersion("baseline"))
    plugin = PodSecurity(stored, defaults, Exemptions(namespaces=frozenset({"default"})))
    assert ask(plugin, relabel(given)).warnings == []
    assert ask(plugin, relabel(labels(enforce="restricted"))).warnings != []
