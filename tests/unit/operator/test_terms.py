"""The term on what a leader writes, and comparisons that do not see it."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.patches.apply import applied_values, is_applied
from steersman.operator.terms import TERM, with_term, with_term_of, without_term

Object = dict[str, Any]
MANAGER = "op"
CONFIG: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}


def live(term: str | None, *, owner: str = MANAGER, value: str = "v") -> Object:
    """What CONFIG became when MANAGER applied it; the term is `owner`'s."""
    applied: dict[str, Object] = {MANAGER: {"f:data": {"f:k": {}}}}
    annotations: Object = {"note": "by hand"}
    if term is not None:
        annotations[TERM] = term
        applied.setdefault(owner, {})["f:metadata"] = {"f:annotations": {f"f:{TERM}": {}}}
    managed = [
        {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}
        for manager, fields in applied.items()
    ]
    metadata = {"name": "a", "annotations": annotations, "managedFields": managed}
    return {**CONFIG, "metadata": metadata, "data": {"k": value}}


def test_a_leader_adds_its_term_and_leaves_what_it_was_given_alone() -> None:
    config = {**CONFIG, "metadata": {"name": "a", "annotations": {"x": "y", TERM: "1"}}}
    assert with_term(config, 7)["metadata"] == {"name": "a", "annotations": {"x": "y", TERM: "7"}}
    assert config["metadata"]["annotations"][TERM] == "1"


def test_without_an_election_there_is_no_term() -> None:
    assert with_term(CONFIG, 0) is CONFIG


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(live("3"), id="of some term"),
        pytest.param(live(None), id="never written by a leader"),
        pytest.param(live("3", owner="other"), id="with somebody else's term"),
    ],
)
def test_an_object_is_applied_whatever_its_term(found: Object) -> None:
    assert is_applied(found, with_term_of(found, CONFIG, MANAGER), MANAGER)


def test_an_object_with_another_value_is_not_applied() -> None:
    found = live("3", value="w")
    assert not is_applied(found, with_term_of(found, CONFIG, MANAGER), MANAGER)


def test_without_their_terms_objects_of_two_terms_are_the_same() -> None:
    one, two = live("3"), live("4")
    assert without_term(one) == without_term(two) != one
    assert applied_values(without_term(one), MANAGER) == applied_values(without_term(two), MANAGER)
    assert one["metadata"]["annotations"][TERM] == "3"


def test_an_object_without_a_term_is_itself() -> None:
    found = live(None)
    assert without_term(found) is found
