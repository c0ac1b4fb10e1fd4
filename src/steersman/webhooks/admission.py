"""AdmissionReview v1: the question read, the function asked, the answer written.

A refusal is an answer; a function that fails is not one: `answer` lets its error through, and the server
says that the webhook failed, so that the failure policy decides.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

import orjson

from steersman.client import Client
from steersman.objects.custom import InvalidObjectError
from steersman.objects.kinds import Object
from steersman.objects.patches import json as json_patch
from steersman.objects.patches import merge
from steersman.objects.resource_type import ResourceType
from steersman.webhooks.errors import Denied
from steersman.webhooks.hook import Hook
from steersman.webhooks.request import OPERATIONS, AdmissionRequest
from steersman.webhooks.review import MalformedReview, answer_to, request_of

__all__ = ["answer"]


_API_VERSION: Final = "admission.k8s.io/v1"
_KIND: Final = "AdmissionReview"
#: The API cuts warnings off; what fits is what people get to read.
_LONGEST_WARNING: Final = 256


async def answer(hook: Hook, review: Any, client: Client) -> Object:
    """The review with its response. Raises MalformedReview, and whatever the function raises."""
    asked = request_of(review, _API_VERSION, _KIND)
    if asked.get("operation") not in OPERATIONS:
        raise MalformedReview(f"the operation {asked.get('operation')!r} was not requested")
    request: AdmissionRequest[Any] = AdmissionRequest(hook.kind, asked, client)
    try:
        said = await (_mutated(hook, request) if hook.mutating else _validated(hook, request))
        response = {"uid": request.uid, "allowed": True, **said}
    except Denied as denied:
        response = {"uid": request.uid, "allowed": False, "status": _status(denied, hook, request)}
    return answer_to(_API_VERSION, _KIND, response)


async def _validated(hook: Hook, request: AdmissionRequest[Any]) -> Object:
    try:
        request.check()
    except InvalidObjectError as error:
        # What a definition cannot say is said by the class, and here is where it counts.
        raise Denied(str(error), code=422, reason="Invalid") from error
    warnings = await hook.function(request)
    if warnings is None:
        return {}
    warnings = [warnings] if isinstance(warnings, str) else warnings
    if not isinstance(warnings, Sequence) or not all(isinstance(each, str) for each in warnings):
        raise TypeError(f"{hook.name} returned {type(warnings).__name__}, not warnings")
    return {"warnings": [each[:_LONGEST_WARNING] for each in warnings]} if warnings else {}


async def _mutated(hook: Hook, request: AdmissionRequest[Any]) -> Object:
    try:
        before = _written(request.resource)
    except InvalidObjectError:
        # Not for this function to say: the schema refuses it, in words about its fields.
        return {}
    # The function may change a dict in place: this is what the patch will be applied to.
    original = deepcopy(request.object)
    changed = await hook.function(request)
    after = _written(request.resource if changed is None else changed)
    if request.operation == "DELETE" or before == after:
        return {}
    patch = json_patch.create(original, merge.apply(original, merge.create(before, after)))
    if not patch:
        return {}
    return {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(patch)).decode()}


def _written(value: Any) -> Object:
    """An object's content, sharing nothing that a function could change."""
    return deepcopy(dict(value)) if isinstance(value, Mapping) else value.to_object()


def _status(denied: Denied, hook: Hook, request: AdmissionRequest[Any]) -> Object:
    fields = {field: text for field, text in denied.problems.items() if field}
    shown = "; ".join(f"{field}: {text}" for field, text in fields.items())
    status: Object = {"status": "Failure", "message": shown or denied.message, "code": denied.code}
    if denied.reason:
        status["reason"] = denied.reason
    if fields:
        status["details"] = _details(hook.resource, request.name, fields)
    return status


def _details(resource: ResourceType, name: str, fields: Mapping[str, str]) -> Object:
    causes = [
        {"reason": "FieldValueInvalid", "message": text, "field": field} for field, text in fields.items()
    ]
    return {"group": resource.group, "kind": resource.kind, "name": name, "causes": causes}
