"""What makes a pod the one with its number."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.statefulset import identity
from tests.unit.cluster.controllers.statefulset.sets import CLAIM, stateful_set


@pytest.mark.parametrize(
    ("name", "ordinal", "member"),
    [
        pytest.param("db-0", 0, True, id="first"),
        pytest.param("db-12", 12, True, id="two digits"),
        pytest.param("db", -1, False, id="no number"),
        pytest.param("db-x", -1, False, id="no number either"),
        pytest.param("db-1-2", 2, False, id="another set's"),
        pytest.param("db-99999999999", -1, True, id="too large"),
    ],
)
def test_numbers_are_read_from_names(name: str, ordinal: int, member: bool) -> None:
    assert identity.ordinal_of(name) == ordinal
    assert identity.is_member(stateful_set(), name) is member


def _pod(**spec: Any) -> dict[str, Any]:
    subject = stateful_set(volumeClaimTemplates=[CLAIM])
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}], **spec}}
    return identity.new_pod(subject, template, "db-abc", 2)


def test_a_pod_has_its_name_labels_and_storage() -> None:
    pod = _pod(volumes=[{"name": "data", "emptyDir": {}}, {"name": "other", "emptyDir": {}}])
    assert pod["metadata"]["name"] == "db-2"
    assert pod["metadata"]["labels"] == {
        "app": "db",
        "controller-revision-hash": "db-abc",
        "statefulset.kubernetes.io/pod-name": "db-2",
        "apps.kubernetes.io/pod-index": "2",
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-2", "svc")
    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-2"}},
        {"name": "other", "emptyDir": {}},
    ]


def test_a_pod_that_was_made_fits() -> None:
    assert identity.fits(stateful_set(volumeClaimTemplates=[CLAIM]), PodState.of(_pod()))


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(
            lambda pod: pod["metadata"]["labels"].pop("statefulset.kubernetes.io/pod-name"), id="label"
        ),
        pytest.param(lambda pod: pod["spec"].pop("volumes"), id="volume"),
        pytest.param(
            lambda pod: pod["spec"]["volumes"][0]["persistentVolumeClaim"].update(claimName="data-db-1"),
            id="another's volume",
        ),
    ],
)
def test_what_does_not_fit_is_put_right(spoil: Any) -> None:
    subject = stateful_set(volumeClaimTemplates=[CLAIM])
    pod = _pod()
    spoil(pod)
    assert not identity.fits(subject, PodState.of(pod))
    assert identity.fits(subject, PodState.of(identity.identified(subject, pod)))
