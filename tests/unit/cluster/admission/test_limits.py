"""LimitRanger."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.limits import LimitRanger

from .conftest import Object, Stored, write
from .refusals import ask, refused, why


def limits(stored: Stored, *items: Object, name: str = "range") -> LimitRanger:
    stored.add("", "limitranges", name, spec={"limits": [*items]})
    return LimitRanger(stored)


def container(
    name: str = "c", requests: Object | None = None, most: Object | None = None, **rest: Any
) -> Object:
    resources = {key: value for key, value in (("requests", requests), ("limits", most)) if value}
    return {"name": name, "resources": resources, **rest}


def pod(*containers: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "a"}, "spec": {"containers": [*containers], **spec}}


def claim(storage: str | None) -> Object:
    requests = {"requests": {"storage": storage}} if storage else {}
    return {"metadata": {"name": "a"}, "spec": {"resources": requests}}


def test_defaults_fill_in_what_containers_leave_out_and_say_so(stored: Stored) -> None:
    plugin = limits(
        stored,
        {
            "type": "Container",
            "default": {"memory": "200Mi", "cpu": "1"},
            "defaultRequest": {"cpu": "100m", "memory": "50Mi"},
        },
    )
    new = pod(
        container("one", {"cpu": "50m"}),
        container("two", {"cpu": "1", "memory": "1Mi"}, {"cpu": "2", "memory": "2Mi"}),
        initContainers=[container("first", None, {"cpu": "3", "memory": "3Gi"})],
    )
    ask(plugin, write("pods", new))
    spec = new["spec"]
    assert spec["containers"][0]["resources"] == {
        "requests": {"cpu": "50m", "memory": "50Mi"},
        "limits": {"cpu": "1", "memory": "200Mi"},
    }
    assert spec["containers"][1]["resources"]["limits"] == {"cpu": "2", "memory": "2Mi"}
    assert spec["initContainers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "50Mi"}
    assert new["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: memory request for container one; "
        "cpu, memory limit for container one; cpu, memory request for init container first"
    }


def test_nothing_is_noted_when_nothing_was_added(stored: Stored) -> None:
    new = pod(container())
    ask(limits(stored, {"type": "Pod", "default": {"cpu": "1"}}), write("pods", new))
    assert new == pod(container())


@pytest.mark.parametrize(
    ("field", "amount", "requests", "most", "expected"),
    [
        ("min", "100m", None, None, "minimum cpu usage per Container is 100m.  No request is specified"),
        ("min", "100m", "50m", "1", "minimum cpu usage per Container is 100m, but request is 50m"),
        ("min", "100m", "100m", "99m", "minimum cpu usage per Container is 100m, but limit is 99m"),
        ("max", "1", "1", None, "maximum cpu usage per Container is 1.  No limit is specified"),
        ("max", "1", "1", "2", "maximum cpu usage per Container is 1, but limit is 2"),
        ("max", "1", "1100m", "1", "maximum cpu usage per Container is 1, but request is 1100m"),
        (
            "maxLimitRequestRatio", "2", None, "1",
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            "maxLimitRequestRatio", "2", "1", None,
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
        (
            "maxLimitRequestRatio", "2", "300m", "1",
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.333333",
        ),
        (
            "maxLimitRequestRatio", "1500m", "1", "2",
            "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000",
        ),
        (
            "maxLimitRequestRatio", "1E", "1", "9E",
            "cpu max limit to request ratio per Container is 1E, but provided ratio is "
            "9000000000000000000.000000",
        ),
    ],
)  # fmt: skip
def test_containers_stay_within_the_range(
    stored: Stored, field: str, amount: str, requests: str | None, most: str | None, expected: str
) -> None:
    plugin = limits(stored, {"type": "Container", field: {"cpu": amount}})
    asked = container("c", {"cpu": requests} if requests else None, {"cpu": most} if most else None)
    assert why(plugin, write("pods", pod(asked))) == expected
    # Init containers are containers.
    assert why(plugin, write("pods", pod(initContainers=[asked]))) == expected


@pytest.mark.parametrize("requests", ["100m", "1"])
def test_the_ends_of_a_range_belong_to_it(stored: Stored, requests: str) -> None:
    item = {
        "type": "Container",
        "min": {"cpu": "100m"},
        "max": {"cpu": "1"},
        "maxLimitRequestRatio": {"cpu": "10"},
    }
    ask(limits(stored, item), write("pods", pod(container("c", {"cpu": requests}, {"cpu": "1"}))))


def test_amounts_beyond_thousandths_are_compared_whole(stored: Stored) -> None:
    plugin = limits(stored, {"type": "Container", "max": {"memory": "8Ei"}})
    huge = container("c", {"memory": "1"}, {"memory": "9223372036854775807"})
    ask(plugin, write("pods", pod(huge)))


def test_several_complaints_are_listed_once_each(stored: Stored) -> None:
    plugin = limits(stored, {"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}})
    assert why(plugin, write("pods", pod(container("a"), container("b")))) == (
        "[minimum memory usage per Container is 1Mi.  No request is specified, "
        "maximum cpu usage per Container is 1.  No limit is specified]"
    )


def test_a_pod_counts_as_a_whole(stored: Stored) -> None:
    plugin = limits(stored, {"type": "Pod", "max": {"cpu": "2"}})
    two = pod(container("a", None, {"cpu": "1500m"}), container("b", None, {"cpu": "600m"}))
    assert why(plugin, write("pods", two)) == "maximum cpu usage per Pod is 2, but limit is 2100m"
    whole = pod(container("a"), resources={"limits": {"cpu": "3"}})
    assert why(plugin, write("pods", whole)) == "maximum cpu usage per Pod is 2, but limit is 3"


@pytest.mark.parametrize(
    ("item", "storage", "expected"),
    [
        (
            {"max": {"storage": "1Gi"}}, "2Gi",
            "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi",
        ),
        (
            {"min": {"storage": "1Gi"}}, "1Mi",
            "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi",
        ),
        (
            {"max": {"storage": "1Gi"}}, None,
            "maximum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified",
        ),
    ],
)  # fmt: skip
def test_claims_have_a_range_of_their_own(
    stored: Stored, item: Object, storage: str | None, expected: str
) -> None:
    plugin = limits(
        stored, {"type": "PersistentVolumeClaim", **item}, {"type": "Pod", "max": {"storage": "1"}}
    )
    error = refused(plugin, write("persistentvolumeclaims", claim(storage)))
    assert error.message == f'persistentvolumeclaims "a" is forbidden: {expected}'
    ask(plugin, write("persistentvolumeclaims", claim("1Gi")))


def test_what_is_being_deleted_is_left_alone(stored: Stored) -> None:
    plugin = limits(stored, {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}})
    old = claim("1Gi")
    update = write("persistentvolumeclaims", claim("2Gi"), operation="UPDATE", old=old)
    assert why(plugin, update)
    old["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    ask(plugin, update)


@pytest.mark.parametrize(
    ("operation", "plural", "subresource", "expected"),
    [
        ("CREATE", "pods", "", True),
        ("UPDATE", "pods", "", False),
        ("UPDATE", "pods", "resize", True),
        ("UPDATE", "pods", "status", False),
        ("UPDATE", "persistentvolumeclaims", "", True),
        ("UPDATE", "persistentvolumeclaims", "status", False),
        ("DELETE", "persistentvolumeclaims", "", False),
        ("CREATE", "services", "", False),
    ],
)
def test_interest(stored: Stored, operation: str, plural: str, subresource: str, expected: bool) -> None:
    assert LimitRanger(stored).handles(operation, "", plural, subresource) is expected
    assert not LimitRanger(stored).handles(operation, "example.com", plural, subresource)


def test_a_generated_name_is_shown_as_far_as_it_is_known(stored: Stored) -> None:
    plugin = limits(stored, {"type": "Container", "max": {"cpu": "1"}})
    new = pod(container())
    new["metadata"] = {"generateName": "web-"}
    assert refused(plugin, write("pods", new, name="")).message.startswith('pods "web-" is forbidden: ')
