"""What is taken from a webhook's answer."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from steersman.cluster.admission.webhooks.review import InvalidReview, ReviewResponse, read_answer


def read(version: str = "v1", *, mutating: bool = True, **response: Any) -> ReviewResponse:
    review = {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True, **response},
    }
    return read_answer(orjson.dumps(review), "u", version, mutating=mutating)


PATCH = base64.b64encode(b"[]").decode()


def test_a_status_may_hold_numbers_and_annotations_may_not() -> None:
    assert read(status={"code": 418, "message": "m"}).status == {"code": 418, "message": "m"}
    assert read(auditAnnotations={"a": "b"}).annotations == {"a": "b"}
    for wrong in ({"auditAnnotations": {"a": 1}}, {"warnings": [1]}, {"status": []}, {"allowed": "yes"}):
        with pytest.raises(InvalidReview, match="cannot unmarshal"):
            read(**wrong)


def test_only_the_newer_version_names_the_kind_of_its_patch() -> None:
    assert read("v1beta1", patch=PATCH).patch_type == "JSONPatch"
    assert read("v1beta1").patch_type == ""
    assert read("v1", patch=PATCH, patchType="JSONPatch").patch_type == "JSONPatch"
    with pytest.raises(InvalidReview):
        read("v1", patch=PATCH)


def test_a_validating_webhook_changes_nothing() -> None:
    answer = read("v1beta1", mutating=False, patch=PATCH)
    assert (answer.patch, answer.patch_type) == (b"", "")
