"""Conversion between versions: what is asked of a webhook, and what of its answer is believed."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.structural.conversion import (
    Conversion,
    accept_review,
    conversion_review,
    needing_conversion,
    rename,
)
from steersman.cluster.schema.structural.errors import ConversionError

Object = dict[str, Any]

_ASKED = Conversion("u1", "g.io/v2", GVK("g.io", "v1", "X"), listed=False, review_version="v1")
_ABOUT = "conversion webhook for g.io/v1, Kind=X"


def x(version: str = "v1", **metadata: Any) -> Object:
    return {"apiVersion": f"g.io/{version}", "kind": "X", "metadata": {"name": "a", "uid": "7", **metadata}}


def review(*objects: Any, **response: Any) -> Object:
    made = {"uid": "u1", "result": {"status": "Success"}, "convertedObjects": list(objects), **response}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": made}


def test_none_renames() -> None:
    assert rename(x(), "g.io/v2") == x("v2")


def test_only_objects_in_other_versions_are_sent() -> None:
    assert needing_conversion([x("v1"), x("v2")], "g.io/v2") == [x("v1")]


def test_review_is_sent_in_the_first_version_known() -> None:
    sent = conversion_review(["v9", "v1", "v1beta1"], [x()], "g.io/v2", "u1")
    assert sent["apiVersion"] == "apiextensions.k8s.io/v1"
    assert sent["request"] == {"uid": "u1", "desiredAPIVersion": "g.io/v2", "objects": [x()]}


def test_no_version_known() -> None:
    with pytest.raises(ConversionError, match="no supported conversion review versions"):
        conversion_review(["v9"], [x()], "g.io/v2", "u1")


def test_metadata_stays_but_for_labels_and_annotations() -> None:
    original = x(labels={"a": "1"}, annotations={"k": "v"}, generation=3)
    made = {**x("v2", labels={"b": "2"}, generation=9), "spec": {"new": 1}}
    assert accept_review([original], review(made), _ASKED) == [
        {**x("v2", labels={"b": "2"}, generation=3), "spec": {"new": 1}}
    ]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param({}, f"{_ABOUT} failed: expected webhook response of apiextensions.k8s.io/v1, "
                     "Kind=ConversionReview, got /, Kind=", id="something else"),
        pytest.param({**review(), "response": None}, f"{_ABOUT} failed: no response provided", id="no response"),
        pytest.param(review(uid="u2"), f'{_ABOUT} failed: expected response.uid="u1", got "u2"', id="another's answer"),
        pytest.param(review(result={"status": "Failure", "message": "no!"}), f"{_ABOUT} failed: no!", id="failure"),
        pytest.param(review(result={}), f"{_ABOUT} failed: response.result.status was '', not 'Success'", id="no status"),
        pytest.param(review(), f"{_ABOUT} returned 0 objects, expected 1", id="too few"),
        pytest.param(review(x("v3")), f"{_ABOUT} returned invalid object at index 0: "
                     "invalid groupVersion (expected g.io/v2, received g.io/v3)", id="another version"),
        pytest.param(review({**x("v2"), "kind": "Y"}), f"{_ABOUT} returned invalid object at index 0: "
                     "invalid kind (expected X, received Y)", id="another kind"),
        pytest.param(review(x("v2", name="b")), f"{_ABOUT} returned invalid object: must have the same name: a != b",
                     id="renamed"),
        pytest.param(review(x("v2", uid="8")), f"{_ABOUT} returned invalid object: must have the same UID: 7 != 8",
                     id="another object"),
        pytest.param(review(x("v2", labels=[])), f"{_ABOUT} returned invalid metadata: "
                     "invalid metadata.labels of type []interface {} in converted object", id="labels are a list"),
        pytest.param(review(x("v2", annotations={"a": 1})), f"{_ABOUT} returned invalid metadata: "
                     "metadata.annotations[a] must be a string, but is int64 in converted object", id="annotation"),
    ],
)  # fmt: skip
def test_answers_that_are_not_believed(answer: Object, problem: str) -> None:
    with pytest.raises(ConversionError) as caught:
        accept_review([x()], answer, _ASKED)
    assert str(caught.value) == problem


def test_labels_must_be_labels() -> None:
    with pytest.raises(ConversionError, match=r"returned invalid metadata: metadata\.labels: Invalid value"):
        accept_review([x()], review(x("v2", labels={"a b": "c"})), _ASKED)


def test_an_item_of_a_list_is_named_by_its_index() -> None:
    asked = _ASKED._replace(listed=True, source=GVK("g.io", "v2", "XList"))
    with pytest.raises(ConversionError) as caught:
        accept_review([x(), x()], review(x("v2"), x("v2", name="b")), asked)
    assert str(caught.value) == (
        "conversion webhook for g.io/v2, Kind=XList returned invalid converted object at index 1: "
        "must have the same name: a != b"
    )


def test_old_reviews_are_not_checked_for_whose_they_are() -> None:
    answer = {"response": review(x("v2"), uid="other")["response"]}
    assert accept_review([x()], answer, _ASKED._replace(review_version="v1beta1")) == [x("v2")]
