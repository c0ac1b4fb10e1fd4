"""Names of definitions: who gets them, and what the status says."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.structural.naming import (
    approval_condition,
    condition_is_true,
    established,
    named_status,
)

Object = dict[str, Any]

_NOW, _LATER = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"


def definition(accepted: Object | None = None, group: str = "g.io", **names: Any) -> Object:
    asked = {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList", **names}
    status = {"acceptedNames": accepted if accepted is not None else {"plural": "", "kind": ""}}
    return {
        "metadata": {"name": f"{asked['plural']}.{group}"},
        "spec": {"group": group, "names": asked},
        "status": status,
    }


def other(group: str = "g.io", **names: Any) -> Object:
    return definition(names, group=group, plural="others")


def test_free_names_are_accepted() -> None:
    made = definition(shortNames=["s"], categories=["all"])
    status = named_status(made, [], _NOW)
    assert status["acceptedNames"] == made["spec"]["names"]
    assert status["conditions"] == [
        {"type": "NamesAccepted", "status": "True", "lastTransitionTime": _NOW, "reason": "NoConflicts",
         "message": "no conflicts found"},
        {"type": "Established", "status": "False", "lastTransitionTime": _NOW, "reason": "Installing",
         "message": "the initial names have been accepted"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("taken", "reason", "message"),
    [
        ({"plural": "xs"}, "PluralConflict", '"xs" is already in use'),
        ({"shortNames": ["x"]}, "SingularConflict", '"x" is already in use'),
        ({"singular": "s"}, "ShortNamesConflict", '"s" is already in use'),
        ({"kind": "X"}, "KindConflict", '"X" is already in use'),
        ({"kind": "XList"}, "ListKindConflict", '"XList" is already in use'),
    ],
)
def test_taken_names_are_not(taken: Object, reason: str, message: str) -> None:
    status = named_status(definition(shortNames=["s"]), [other(**taken)], _NOW)
    assert [(each["type"], each["status"], each["reason"]) for each in status["conditions"]] == [
        ("NamesAccepted", "False", reason),
        ("Established", "False", "NotAccepted"),
    ]
    assert status["conditions"][0]["message"] == message


def test_names_are_taken_within_a_group() -> None:
    status = named_status(definition(), [other(group="h.io", plural="xs", kind="X")], _NOW)
    assert condition_is_true({"status": status}, "NamesAccepted")


def test_a_definition_keeps_what_it_has() -> None:
    made = definition()
    made["status"] = named_status(made, [], _NOW)
    assert named_status(made, [other(plural="xs")], _LATER) is made["status"]


def test_served_resources_are_established_once() -> None:
    made = definition()
    assert established(made, _NOW) is made["status"]
    made["status"] = named_status(made, [], _NOW)
    made["status"] = established(made, _LATER)
    assert made["status"]["conditions"][1] == {
        "type": "Established", "status": "True", "lastTransitionTime": _LATER, "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    }  # fmt: skip
    assert established(made, _NOW) is made["status"]


def test_a_webhook_without_certificates_is_not_established() -> None:
    made = definition()
    made["status"] = named_status(made, [], _NOW)
    status = established(made, _LATER, ca_bundle_valid=False)
    assert status["conditions"][1]["reason"] == "InvalidCABundle"


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        ("", "MissingAnnotation"),
        ("unapproved, testing", "UnapprovedAnnotation"),
        ("https://github.com/kubernetes/kubernetes/pull/1", "ApprovedAnnotation"),
        ("yes", "InvalidAnnotation"),
    ],
)
def test_groups_of_the_community_need_approval(annotation: str, reason: str) -> None:
    made = definition(group="x.k8s.io")
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
    condition = approval_condition(made)
    assert condition is not None
    assert condition["reason"] == reason


def test_other_groups_do_not() -> None:
    assert approval_condition(definition()) is None
