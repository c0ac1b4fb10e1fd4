"""AdmissionReview: the request sent to a webhook, and the parsed response.

Pure: builds and reads documents. An unusable response raises `InvalidReview`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.webhooks.versions import GVR, VersionedAttributes
from steersman.cluster.auth.users import user_info
from steersman.cluster.codec import yaml
from steersman.cluster.codec.errors import Malformed
from steersman.cluster.codec.json import parse
from steersman.cluster.schema.go_messages import base64_error
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.patches.gotext import go_kind
from steersman.objects.status import StatusError

__all__ = [
    "InvalidReview",
    "ReviewResponse",
    "Undecodable",
    "admission_request",
    "ask",
    "denial",
    "read_answer",
    "review_version",
]


_GROUP = "admission.k8s.io"
_KNOWN = ("v1", "v1beta1")
#: What the metadata of a Status can have.
_LIST_META = ("selfLink", "resourceVersion", "continue", "remainingItemCount")
_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:74"
_TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
#: The options a request has when nothing was said about them.
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


class InvalidReview(Exception):
    """An unusable response; the message says why."""


class Undecodable(InvalidReview):
    """Bytes that are no AdmissionReview; the call itself has failed."""


@dataclass(frozen=True, slots=True)
class ReviewResponse:
    """The response of a webhook: allowed or not, status, patch, warnings, audit annotations."""

    allowed: bool
    #: The Status that came with it.
    status: Object = field(default_factory=dict)
    patch: bytes = b""
    patch_type: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def review_version(accepted: tuple[str, ...]) -> str:
    """The first version a webhook accepts that is known here."""
    for version in accepted:
        if version in _KNOWN:
            return version
    raise InvalidReview("webhook does not accept known AdmissionReview versions (v1, v1beta1)")


def ask(uid: str, version: str, attributes: Attributes, versioned: VersionedAttributes) -> bytes:
    """The review's JSON, fields in the order Kubernetes writes them."""
    request = {
        "uid": uid,
        **_about(attributes, versioned),
        "object": versioned.object,
        "oldObject": versioned.old,
        **_circumstances(attributes),
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": f"{_GROUP}/{version}", "request": request})


def admission_request(attributes: Attributes, versioned: VersionedAttributes) -> Object:
    """The request without the objects: what expressions know as `request`."""
    return {**_about(attributes, versioned), **_circumstances(attributes)}


def _about(attributes: Attributes, versioned: VersionedAttributes) -> Object:
    kind, asked = versioned.kind, attributes.gvk
    about: Object = {
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "resource": versioned.resource._asdict(),
        "subResource": attributes.subresource,
        "requestKind": {"group": asked.group, "version": asked.version, "kind": asked.kind},
        "requestResource": GVR.of(attributes)._asdict(),
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": user_info(attributes.user),
    }
    for optional in ("subResource", "requestSubResource", "name", "namespace"):
        if not about[optional]:
            del about[optional]
    return about


def _circumstances(attributes: Attributes) -> Object:
    options = attributes.options or _default_options(attributes)
    return {"dryRun": attributes.dry_run, "options": options}


def _default_options(attributes: Attributes) -> Object | None:
    kind = _OPTIONS.get(attributes.operation)
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1"} if kind else None


def read_answer(body: bytes, uid: str, version: str, *, mutating: bool) -> ReviewResponse:
    """Check a webhook's answer and take what it says."""
    review = _parse(body, version)
    response = review.get("response")
    if response is None:
        raise InvalidReview("webhook response was absent")
    if not isinstance(response, dict):
        into = f"Go struct field AdmissionReview.response of type {version}.AdmissionResponse"
        raise Undecodable(f"json: cannot unmarshal {go_kind(response)} into {into}")
    _check_shape(response)
    patch = _patch(response)
    if version == "v1":
        _check_identity(review, response, uid)
        patch_type = _patch_type(response, mutating=mutating)
    else:
        patch_type = "JSONPatch" if response.get("patch") else ""
    return ReviewResponse(
        response.get("allowed") or False,
        response.get("status") or {},
        patch if mutating else b"",
        patch_type if mutating else "",
        response.get("auditAnnotations") or {},
        tuple(response.get("warnings") or ()),
    )


def _parse(body: bytes, version: str) -> Object:
    """The review that bytes are, read as Kubernetes reads any object: its kind is looked at first."""
    try:
        review = parse(body) if body.lstrip().startswith(b"{") else yaml.parse(body)[0]
    except Malformed as error:
        raise Undecodable(f"couldn't get version/kind; json parse error: {error}") from None
    if review is not None and not isinstance(review, dict):
        into = f"Go value of type {_TYPE_META}"
        why = f"json: cannot unmarshal {go_kind(review)} into {into}"
        raise Undecodable(f"couldn't get version/kind; json parse error: {why}")
    review = review or {}
    given, kind = str(review.get("apiVersion") or ""), str(review.get("kind") or "")
    if kind and given and (given, kind) != (f"{_GROUP}/{version}", "AdmissionReview"):
        if given in (f"{_GROUP}/{known}" for known in _KNOWN) and kind == "AdmissionReview":
            other = given.rpartition("/")[2]
            raise Undecodable(f"converting ({other}.{kind}) to ({version}.{kind}): unknown conversion")
        raise Undecodable(
            f"no kind {quote(kind)} is registered for version {quote(given)} in scheme {quote(_SCHEME)}"
        )
    return review


#: Go struct → its fields: the JSON they are read from, the Go type, and that of their items or of the struct.
_SHAPES: Mapping[str, Mapping[str, tuple[type, str, str]]] = {
    "AdmissionResponse": {
        "uid": (str, "types.UID", ""),
        "allowed": (bool, "bool", ""),
        "status": (dict, "v1.Status", "Status"),
        "patch": (str, "[]uint8", ""),
        "patchType": (str, "v1.PatchType", ""),
        "auditAnnotations": (dict, "map[string]string", "string"),
        "warnings": (list, "[]string", "string"),
    },
    "Status": {
        "status": (str, "string", ""),
        "message": (str, "string", ""),
        "reason": (str, "v1.StatusReason", ""),
        "details": (dict, "v1.StatusDetails", "StatusDetails"),
        "code": (int, "int32", ""),
    },
    "StatusDetails": {
        "name": (str, "string", ""),
        "group": (str, "string", ""),
        "kind": (str, "string", ""),
        "uid": (str, "types.UID", ""),
        "causes": (list, "[]v1.StatusCause", ""),
        "retryAfterSeconds": (int, "int32", ""),
    },
}


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))


def _check_shape(value: Object, struct: str = "AdmissionResponse", path: str = "response") -> None:
    """Complain as Go would about what it cannot put into the struct."""
    for name, (kind, go_type, inner) in _SHAPES[struct].items():
        item = value.get(name)
        if item is None:
            continue
        at = f"Go struct field {struct}.{path}.{name} of type"
        if not _is(item, kind):
            raise Undecodable(f"json: cannot unmarshal {go_kind(item)} into {at} {go_type}")
        if inner == "string":
            for each in item.values() if isinstance(item, dict) else item:
                if each is not None and not isinstance(each, str):
                    raise Undecodable(f"json: cannot unmarshal {go_kind(each)} into {at} string")
        elif inner:
            _check_shape(item, inner, f"{path}.{name}")


def _check_identity(review: Object, response: Object, uid: str) -> None:
    if response.get("uid", "") != uid:
        raise InvalidReview(f"expected response.uid={quote(uid)}, got {quote(response.get('uid', ''))}")
    group, _, version = str(review.get("apiVersion", "")).rpartition("/")
    kind = str(review.get("kind", ""))
    if (group, version, kind) != (_GROUP, "v1", "AdmissionReview"):
        raise InvalidReview(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
            f"got {group}/{version}, Kind={kind}"
        )


def _patch_type(response: Object, *, mutating: bool) -> str:
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        if patch:
            raise InvalidReview("validating webhook may not return response.patch")
        if patch_type is not None:
            raise InvalidReview("validating webhook may not return response.patchType")
        return ""
    if patch and patch_type is None:
        raise InvalidReview("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise InvalidReview("webhook returned response.patchType but not response.patch")
    if patch_type is not None and not patch_type:
        raise InvalidReview('webhook returned invalid response.patchType of ""')
    return patch_type or ""


def _patch(response: Object) -> bytes:
    text = response.get("patch") or ""
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except binascii.Error:
        raise Undecodable(base64_error(text)) from None


def denial(webhook: str, status: Object) -> StatusError:
    """A webhook's no, in its own words if it had any."""
    denied = f"admission webhook {quote(webhook)} denied the request"
    said = status.get("message") or status.get("reason")
    code = status.get("code")
    error = StatusError(
        code if isinstance(code, int) and code >= 400 else 400,
        str(status.get("reason") or ""),
        f"{denied}: {said}" if said else f"{denied} without explanation",
        status.get("details") if isinstance(status.get("details"), dict) else None,
    )
    if isinstance(metadata := status.get("metadata"), dict):
        error.metadata = {key: metadata[key] for key in _LIST_META if key in metadata}
    return error
