"""Custom resources from one version to another: the parts of it that need no network.

`rename` is the strategy None. For the strategy Webhook the API server takes those objects that
`needing_conversion` gives, sends `conversion_review`, and gives the answer to `accept_review`, which
checks it as Kubernetes does: the same objects, in order, with nothing of their metadata changed but labels
and annotations. ConversionError carries Kubernetes' text.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.structural.errors import ConversionError
from steersman.cluster.schema.structural.go_types import go_type
from steersman.objects.fields import Path, join, quote
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_annotations, validate_labels

__all__ = ["Conversion", "accept_review", "conversion_review", "needing_conversion", "rename"]


_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "ConversionReview"
_VERSIONS: Final = ("v1", "v1beta1")


class Conversion(NamedTuple):
    """What was asked of the webhook. `source` is the kind asked for: the list's when `listed`."""

    uid: str
    api_version: str
    source: GVK
    listed: bool
    review_version: str


def rename(obj: Object, api_version: str) -> Object:
    """The object in another version of the same shape."""
    return {**obj, "apiVersion": api_version}


def needing_conversion(objects: Sequence[Object], api_version: str) -> list[Object]:
    """Those that are not in the version yet."""
    return [obj for obj in objects if obj.get("apiVersion") != api_version]


def conversion_review(
    review_versions: Sequence[str], objects: Sequence[Object], api_version: str, uid: str
) -> Object:
    """The review to send, in the first version that both sides know. Raises ConversionError."""
    for version in review_versions:
        if version in _VERSIONS:
            request = {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)}
            return {
                "kind": _KIND,
                "apiVersion": f"{_GROUP}/{version}",
                "request": request,
                "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
            }
    raise ConversionError("no supported conversion review versions")


def accept_review(sent: Sequence[Object], review: Any, asked: Conversion) -> list[Object]:
    """The converted objects, in the order they were sent. Raises ConversionError."""
    about = f"conversion webhook for {asked.source}"
    try:
        converted = _converted_objects(review, asked)
    except ConversionError as error:
        raise ConversionError(f"{about} failed: {error}") from None
    if len(converted) != len(sent):
        raise ConversionError(f"{about} returned {len(converted)} objects, expected {len(sent)}")
    return [
        _accepted(original, made, asked, index)
        for index, (original, made) in enumerate(zip(sent, converted, strict=True))
    ]


def _converted_objects(review: Any, asked: Conversion) -> list[Any]:
    answer = review if isinstance(review, dict) else {}
    if asked.review_version == "v1":
        got = _shown(answer.get("apiVersion") or "", answer.get("kind") or "")
        wanted = _shown(f"{_GROUP}/v1", _KIND)
        if got != wanted:
            raise ConversionError(f"expected webhook response of {wanted}, got {got}")
    response = answer.get("response")
    if not isinstance(response, dict):
        raise ConversionError("no response provided")
    uid = response.get("uid") or ""
    if asked.review_version == "v1" and uid != asked.uid:
        raise ConversionError(f"expected response.uid={quote(asked.uid)}, got {quote(str(uid))}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status") or ""
        raise ConversionError(
            result.get("message") or f"response.result.status was '{status}', not 'Success'"
        )
    return list(response.get("convertedObjects") or ())


def _shown(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _accepted(original: Object, made: Any, asked: Conversion, index: int) -> Object:
    about = f"conversion webhook for {asked.source} returned"
    what = "invalid converted object" if asked.listed else "invalid object"
    place = f"{about} {what} at index {index}: "
    if not isinstance(made, dict) or not isinstance(made.get("kind"), str) or not made["kind"]:
        raise ConversionError(f"{place}Object 'Kind' is missing in '{made if made is not None else ''}'")
    if made.get("apiVersion") != asked.api_version:
        received = made.get("apiVersion", "")
        raise ConversionError(
            f"{place}invalid groupVersion (expected {asked.api_version}, received {received})"
        )
    if made["kind"] != original["kind"]:
        raise ConversionError(f"{place}invalid kind (expected {original['kind']}, received {made['kind']})")
    if difference := _different_identity(original, made):
        raise ConversionError(f"{place if asked.listed else f'{about} {what}: '}{difference}")
    try:
        return _with_metadata(original, made)
    except ConversionError as error:
        where = f" in object at index {index}" if asked.listed else ""
        raise ConversionError(f"{about} invalid metadata{where}: {error}") from None


def _different_identity(original: Object, made: Object) -> str:
    before, after = original.get("metadata") or {}, made.get("metadata") or {}
    after = after if isinstance(after, dict) else {}
    for key, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if before.get(key, "") != after.get(key, ""):
            return f"must have the same {shown}: {before.get(key, '')} != {after.get(key, '')}"
    return ""


def _with_metadata(original: Object, made: Object) -> Object:
    """The converted object with the original's metadata, but its own labels and annotations."""
    if "metadata" not in made:
        raise ConversionError("missing metadata in converted object")
    answered = made["metadata"]
    if not isinstance(answered, dict):
        raise ConversionError(f"invalid metadata of type {go_type(answered)} in converted object")
    metadata = deepcopy(original.get("metadata") or {})
    for key in ("labels", "annotations"):
        given = answered.get(key)
        if given is None:
            metadata.pop(key, None)
            continue
        if not isinstance(given, dict):
            raise ConversionError(f"invalid metadata.{key} of type {go_type(given)} in converted object")
        for name, value in given.items():
            if not isinstance(value, str):
                kind = go_type(value)
                raise ConversionError(
                    f"metadata.{key}[{name}] must be a string, but is {kind} in converted object"
                )
        if given != (metadata.get(key) or {}):
            _check_map(key, given)
        metadata[key] = given
    return {**made, "metadata": metadata}


def _check_map(key: str, given: dict[str, str]) -> None:
    path = Path("metadata")
    # Kubernetes names the singular for annotations here.
    errors = (
        validate_labels(given, path.child("labels"))
        if key == "labels"
        else validate_annotations(given, path.child("annotation"))
    )
    if errors:
        raise ConversionError(join(errors))
