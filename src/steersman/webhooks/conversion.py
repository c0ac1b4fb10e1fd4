"""ConversionReview v1: objects from one version to another, by the functions of `Versions`."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from steersman.objects.custom import ConversionError, Versions
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.webhooks.review import MalformedReview, answer_to, request_of

__all__ = ["conversion_path", "converted"]


_API_VERSION: Final = "apiextensions.k8s.io/v1"
_KIND: Final = "ConversionReview"
#: A list of thousands must not keep others waiting for their answers.
_AT_ONCE: Final = 50


def conversion_path(resource: ResourceType) -> str:
    """One for all versions: `/convert/example.com-webapp`."""
    return f"/convert/{resource.group}-{resource.kind.lower()}"


async def converted(versions: Versions, review: Any) -> Object:
    """The review with its response. Raises MalformedReview."""
    request = request_of(review, _API_VERSION, _KIND)
    wanted, objects = request.get("desiredAPIVersion"), request.get("objects") or []
    if not isinstance(wanted, str) or not all(isinstance(each, dict) for each in objects):
        raise MalformedReview("a ConversionReview names objects and the version they are wanted in")
    made: list[Object] = []
    try:
        for index, obj in enumerate(objects):
            if index and index % _AT_ONCE == 0:
                await asyncio.sleep(0)
            made.append(versions.convert(obj, wanted))
    except ConversionError as error:
        result, made = {"status": "Failure", "message": str(error)}, []
    else:
        result = {"status": "Success"}
    response = {"uid": request["uid"], "convertedObjects": made, "result": result}
    return answer_to(_API_VERSION, _KIND, response)
