"""What AdmissionReview and ConversionReview share: a request with a uid, a response with the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steersman.objects.kinds import Object

__all__ = ["MalformedReview", "answer_to", "request_of"]


class MalformedReview(Exception):
    """The body is no question of the kind expected here: the sender's fault."""


def request_of(review: Any, api_version: str, kind: str) -> Mapping[str, Any]:
    """The question in a review. Raises MalformedReview."""
    if not isinstance(review, dict) or (review.get("apiVersion"), review.get("kind")) != (api_version, kind):
        raise MalformedReview(f"expected a {kind} of {api_version}")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str) or not request["uid"]:
        raise MalformedReview(f"the {kind} has no request with a uid")
    return request


def answer_to(api_version: str, kind: str, response: Mapping[str, Any]) -> Object:
    return {"apiVersion": api_version, "kind": kind, "response": dict(response)}
