"""Which volumes are attached to a node."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.volumes.attachments import (
    Attachable,
    attached_volumes,
    is_ours,
    new_attachment,
    plan_attachments,
)

Object = dict[str, Any]

ONE = Attachable("one", "disks", "handle-1", False)
SHARED = Attachable("shared", "disks", "handle-2", True)


def test_only_csi_volumes_are_attached() -> None:
    metadata = {"name": "one"}
    csi = {"csi": {"driver": "disks", "volumeHandle": "handle-1"}, "accessModes": ["ReadWriteOnce"]}
    assert Attachable.of({"metadata": metadata, "spec": csi}) == ONE
    assert Attachable.of({"metadata": metadata, "spec": {"hostPath": {}}}) is None
    assert ONE.unique_name == "kubernetes.io/csi/disks^handle-1"


def test_an_attachment_has_the_name_that_others_expect() -> None:
    made = new_attachment(ONE, "n1")
    # sha256 of "handle-1disksn1"
    assert len(made["metadata"]["name"]) == len("csi-") + 64
    assert made["spec"] == {"attacher": "disks", "nodeName": "n1", "source": {"persistentVolumeName": "one"}}
    assert new_attachment(ONE, "n2")["metadata"]["name"] != made["metadata"]["name"]
    assert is_ours(made)
    assert not is_ours({**made, "metadata": {"name": "somebody-elses"}})


THERE = new_attachment(ONE, "n1")


@pytest.mark.parametrize(
    ("wanted", "there", "in_use", "holders", "outcome"),
    [
        pytest.param([ONE], [], [], {}, ("one", "", ""), id="to be attached"),
        pytest.param([ONE], [THERE], [], {"one": ["n1"]}, ("", "", ""), id="attached"),
        pytest.param([], [THERE], [], {}, ("", "one", ""), id="to be detached"),
        pytest.param([], [THERE], ["one"], {}, ("", "", ""), id="still in use"),
        pytest.param([ONE], [], [], {"one": ["n2"]}, ("", "", "one"), id="another node has it"),
        pytest.param([SHARED], [], [], {"shared": ["n2"]}, ("shared", "", ""), id="both may have it"),
    ],
)
def test_what_changes(
    wanted: list[Attachable],
    there: list[Object],
    in_use: list[str],
    holders: dict[str, list[str]],
    outcome: tuple[str, str, str],
) -> None:
    plan = plan_attachments("n1", wanted, there, in_use, holders)
    detached = [one["spec"]["source"]["persistentVolumeName"] for one in plan.detach]
    found = (
        [one.volume for one in plan.attach],
        detached,
        [one.volume for one in plan.refused],
    )
    assert tuple(",".join(names) for names in found) == outcome


def test_a_node_is_told_of_what_its_driver_has_attached() -> None:
    waiting, done = new_attachment(ONE, "n1"), {**new_attachment(SHARED, "n1"), "status": {"attached": True}}
    assert attached_volumes([waiting, done], {"one": ONE, "shared": SHARED}) == [
        {"name": SHARED.unique_name, "devicePath": ""}
    ]
