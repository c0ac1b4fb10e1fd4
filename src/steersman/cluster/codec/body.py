"""A request's body to an object of the expected kind, with every refusal in kube-apiserver's words.

The steps are Kubernetes': parse, read apiVersion and kind, decode into that type, and only then compare
it with the kind the request is about. Custom resources use `parse_body`, which stops after the second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from steersman.cluster.codec import json, protobuf, yaml
from steersman.cluster.codec.errors import BodyRejected, Malformed
from steersman.cluster.codec.negotiate import Format, input_format
from steersman.cluster.schema import go_messages
from steersman.cluster.schema.decode import Decoded, decode_type
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.table import type_name

__all__ = [
    "DecodedBody",
    "FieldValidation",
    "ParsedBody",
    "decode_body",
    "decode_options",
    "parse_body",
    "strict_error",
]

FieldValidation = Literal["", "Ignore", "Warn", "Strict"]

_SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"
#: How the struct that reads only apiVersion and kind shows itself in messages.
_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_SUMMARY_LENGTH: Final = 30


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """An object in normal form with its apiVersion and kind, and warnings for the client."""

    obj: dict[str, Any]
    gvk: GVK
    warnings: list[str] = field(default_factory=list)


class ParsedBody(NamedTuple):
    """A body as a JSON value, what it says it is, and strict findings that parsing made (YAML only)."""

    value: dict[str, Any]
    gvk: GVK
    strict_errors: list[str]


def decode_body(
    content_type: str, body: bytes, expected: GVK, field_validation: FieldValidation = ""
) -> DecodedBody:
    """The body as an object of the built-in kind `expected`, of which it may leave out apiVersion and kind.
    `field_validation` empty means Warn. Raises UnsupportedMediaType or BodyRejected."""
    strict = field_validation != "Ignore"
    body_format = input_format(content_type)
    if body_format == "protobuf":
        gvk, decoded = _decode_protobuf(body, expected)
        found: list[str] = []
    else:
        parsed = parse_body(content_type, body, expected, duplicates=strict)
        gvk, found = parsed.gvk, parsed.strict_errors
        decoded = _decode_parsed(parsed, body, body_format, expected)
    _check_kind(gvk, expected)
    obj = decoded.obj
    obj["apiVersion"] = gvk.api_version
    obj["kind"] = gvk.kind
    strict_errors = [*found, *decoded.strict_errors] if strict else []
    if strict_errors and field_validation == "Strict":
        raise _unusable(gvk, expected, strict_error(strict_errors))
    return DecodedBody(obj, gvk, strict_errors)


def parse_body(content_type: str, body: bytes, expected: GVK, *, duplicates: bool = False) -> ParsedBody:
    """A JSON or YAML body and the kind it claims to be. Raises UnsupportedMediaType or BodyRejected."""
    strict_errors: list[str] = []
    body_format = input_format(content_type)
    if body_format == "protobuf":
        raise BodyRejected("protobuf is understood for built-in kinds only")
    try:
        if body_format == "yaml":
            value, strict_errors = yaml.parse(body)
        else:
            value = json.parse(body, duplicates=duplicates)
    except Malformed as error:
        prefix = "" if body_format == "yaml" else "couldn't get version/kind; json parse error: "
        raise _unrecognized(expected, f"{prefix}{error}", body) from None
    if value is None:
        value = {}
    return ParsedBody(value, _claimed(value, expected, body), strict_errors)


def strict_error(strict_errors: list[str]) -> str:
    """How strict findings are told as one error."""
    return "strict decoding error: " + ", ".join(strict_errors)


def _claimed(value: Any, expected: GVK, body: bytes) -> GVK:
    if not isinstance(value, dict):
        text = f"json: cannot unmarshal {go_messages.json_type(value)} into Go value of type {_TYPE_META}"
        raise _unrecognized(expected, f"couldn't get version/kind; json parse error: {text}", body)
    for name in ("apiVersion", "kind"):
        found = value.get(name)
        if found is not None and not isinstance(found, str):
            found_type = go_messages.json_type(found)
            text = f"json: cannot unmarshal {found_type} into Go struct field .{name} of type string"
            raise _unrecognized(expected, f"couldn't get version/kind; json parse error: {text}", body)
    return _with_defaults(value.get("apiVersion") or "", value.get("kind") or "", expected, body)


def _with_defaults(api_version: str, kind: str, expected: GVK, body: bytes) -> GVK:
    """What a body says it is; what it does not say is as expected."""
    if api_version.count("/") > 1:
        raise _unrecognized(expected, f"unexpected GroupVersion string: {api_version}", body)
    gvk = GVK.of(api_version, kind or expected.kind)
    if not gvk.version and gvk.group in ("", expected.group):
        gvk = gvk._replace(group=expected.group, version=expected.version)
    return gvk


def _decode_parsed(parsed: ParsedBody, body: bytes, body_format: Format, expected: GVK) -> Decoded:
    name = _registered(parsed.gvk, expected)
    try:
        return decode_type(name, parsed.value)
    except DecodeError as error:
        text = str(error)
        if body_format == "json" and "number" in text:
            text = _as_written(name, body) or text
        raise _unusable(parsed.gvk, expected, text) from None


def _as_written(name: str, body: bytes) -> str:
    """The same error from numbers as they were written: Go quotes them so."""
    try:
        decode_type(name, json.parse_exactly(body))
    except DecodeError as error:
        return str(error)
    return ""


def _decode_protobuf(body: bytes, expected: GVK) -> tuple[GVK, Decoded]:
    try:
        envelope = protobuf.open_envelope(body)
    except Malformed as error:
        raise _unrecognized(expected, str(error), body) from None
    gvk = _with_defaults(envelope.api_version, envelope.kind, expected, body)
    name = _registered(gvk, expected)
    try:
        return gvk, Decoded(protobuf.decode(name, envelope.raw), [])
    except Malformed as error:
        raise _unusable(gvk, expected, str(error)) from None


def _registered(gvk: GVK, expected: GVK) -> str:
    name = type_name(gvk)
    if name is None:
        text = f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme "{_SCHEME}"'
        raise _unusable(gvk, expected, text)
    return name


def _check_kind(gvk: GVK, expected: GVK) -> None:
    if gvk == expected:
        return
    target = _internal(expected)
    if _internal(gvk) != target:
        text = f"converting ({gvk.version}.{gvk.kind}) to ({target}): unknown conversion"
        raise _unusable(gvk, expected, text)
    raise BodyRejected(
        f"the API version in the data ({gvk.api_version}) does not match "
        f"the expected API version ({expected.api_version})"
    )


def _internal(gvk: GVK) -> str:
    """The type all versions of a kind are converted through, as Go names it: core.ConfigMap."""
    package = gvk.group.partition(".")[0] or "core"
    return f"{'core' if package == 'events' else package}.{gvk.kind}"


def _unusable(gvk: GVK, expected: GVK, text: str) -> BodyRejected:
    return BodyRejected(
        f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {expected.kind}: {text}'
    )


def _unrecognized(expected: GVK, text: str, body: bytes) -> BodyRejected:
    return BodyRejected(
        f"the object provided is unrecognized (must be of type {expected.kind}): {text} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start = body[:_SUMMARY_LENGTH]
    shown = start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()
    return shown if len(body) <= _SUMMARY_LENGTH else shown + " ..."


def decode_options(content_type: str, body: bytes, kind: str) -> dict[str, Any]:
    """A body of request options, which clients send under the version of whatever group they talk to."""
    expected = GVK("", "v1", kind)
    name = f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"
    try:
        if input_format(content_type) == "protobuf":
            return protobuf.decode(name, protobuf.open_envelope(body).raw)
        parsed = parse_body(content_type, body, expected)
        if parsed.gvk.kind != kind:
            raise BodyRejected(f"decoded object cannot be converted to {kind}")
        return decode_type(name, parsed.value).obj
    except Malformed as error:
        raise _unrecognized(expected, str(error), body) from None
    except DecodeError as error:
        raise _unusable(expected, expected, str(error)) from None
