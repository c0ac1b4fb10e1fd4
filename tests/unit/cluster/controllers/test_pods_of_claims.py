"""Whether a pod uses a claim."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.pods_of_claims import ClaimUser

Object = dict[str, Any]

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
NAMED = {"name": "v", "persistentVolumeClaim": {"claimName": "p-v"}}
EPHEMERAL = {"name": "v", "ephemeral": {}}
RUNNING = [{"state": {"running": {}}}, {"state": {"terminated": {}}}]
OVER = [{"state": {"terminated": {}}}, {"state": {"waiting": {}}}]


def pod(volume: Object, node: str = "n", status: Object | None = None, **metadata: Any) -> ClaimUser:
    return ClaimUser.of(
        {
            "metadata": {"name": "p", "uid": "u", **metadata},
            "spec": {"nodeName": node, "volumes": [{"name": "other", "emptyDir": {}}, volume]},
            "status": {"phase": "Running", **(status or {})},
        }
    )


def claim(name: str = "p-v", owner: str = "u") -> Object:
    return {"metadata": {"name": name, "ownerReferences": [{"uid": owner, "controller": True}]}}


@pytest.mark.parametrize(
    ("user", "used", "holds", "needs"),
    [
        pytest.param(pod(NAMED), claim(), True, True, id="running"),
        pytest.param(pod(NAMED), claim("other"), False, False, id="another claim"),
        pytest.param(pod(NAMED, node=""), claim(), False, True, id="no node yet"),
        pytest.param(pod(NAMED, status={"phase": "Succeeded"}), claim(), True, False, id="ended"),
        pytest.param(
            pod(NAMED, status={"containerStatuses": RUNNING}, **DELETED), claim(), True, True, id="ending"
        ),
        pytest.param(
            pod(NAMED, status={"containerStatuses": OVER}, **DELETED), claim(), True, False, id="stopped"
        ),
        pytest.param(pod(NAMED, status={"containerStatuses": OVER}), claim(), True, True, id="restarts"),
        pytest.param(pod(EPHEMERAL), claim(), True, True, id="ephemeral"),
        pytest.param(pod(EPHEMERAL), claim(owner="x"), False, False, id="made for another pod"),
        pytest.param(
            pod(EPHEMERAL, deletionGracePeriodSeconds=0, status={"containerStatuses": RUNNING}, **DELETED),
            claim(),
            False,
            True,
            id="ephemeral of a pod that is shut down",
        ),
    ],
)
def test_use(user: ClaimUser, used: Object, holds: bool, needs: bool) -> None:
    assert (user.holds(used), user.needs(used)) == (holds, needs)
