"""Decoding a request body into an object of the expected kind, with kube-apiserver's error messages.

The steps are Kubernetes': parse, read apiVersion and kind, decode into that type, and only then compare
it with the kind the request is about. Custom resources use `parse_body`, which stops after the second.
YAML and protobuf are loaded with the first body that needs them, since a start should not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from steersman.cluster.codec import json
from steersman.cluster.codec.errors import BodyRejected, Malformed
from steersman.cluster.codec.negotiate import Format, input_format
from steersman.cluster.schema import go_messages
from steersman.cluster.schema.decode import Decoded, decode_type
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.former_versions import current_kind
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.table import type_name

__all__ = [
    "DecodedBody",
    "FieldValidation",
    "ParsedBody",
    "claimed_kind",
    "decode_body",
    "decode_options",
    "internal_type",
    "kind_error",
    "parse_body",
    "strict_error",
    "unrecognized",
]

FieldValidation = Literal["", "Ignore", "Warn", "Strict"]

#: Go's registries of types, as messages name them: of the API's objects, and of what every group shares.
_SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"
#: What is taken though it is of another version, and means the same.
_ACCEPTED: Final = (GVK("policy", "v1beta1", "Eviction"),)
_OPTIONS_SCHEME: Final = "pkg/apis/meta/internalversion/scheme/register.go:27"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: How the struct that reads only apiVersion and kind shows itself in messages.
_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_NO_KIND: Final = "couldn't get version/kind; json parse error: "
_SUMMARY_LENGTH: Final = 30


class DecodedBody(NamedTuple):
    """An object in normal form with its apiVersion and kind, and warnings for the client."""

    obj: dict[str, Any]
    gvk: GVK
    warnings: list[str]
    #: The parsed body it was made of, with its empty lists and maps; None for protobuf, which has none.
    parsed: dict[str, Any] | None = None


class ParsedBody(NamedTuple):
    """A body as a JSON value, its apiVersion and kind, and strict decoding errors of the parser (YAML
    only).
    """

    value: dict[str, Any]
    gvk: GVK
    strict_errors: list[str]


class _Fault(Exception):
    """The reason why a body cannot be decoded, and its kind, once that is known."""

    def __init__(self, text: str, gvk: GVK | None = None) -> None:
        super().__init__(text)
        self.gvk = gvk


def decode_body(
    content_type: str, body: bytes, expected: GVK, field_validation: FieldValidation = ""
) -> DecodedBody:
    """The body as an object of the built-in kind `expected`, of which it may leave out apiVersion and kind.
    `field_validation` empty means Warn. Raises UnsupportedMediaType or BodyRejected."""
    strict = field_validation != "Ignore"
    try:
        gvk, decoded, parsed = _decode(input_format(content_type), body, expected, _registered)
        is_other = gvk is not expected and gvk != expected
        if is_other:
            _check_conversion(gvk, expected)
        findings = decoded.strict_errors
        if findings and is_other and type_name(gvk) is None:
            findings = []  # we know no more than the version's name
        if findings and field_validation == "Strict":
            raise _Fault(strict_error(findings), gvk)
    except _Fault as fault:
        raise _rejection(fault, expected, body) from None
    if is_other and gvk not in _ACCEPTED:
        raise BodyRejected(
            f"the API version in the data ({gvk.api_version}) does not match "
            f"the expected API version ({expected.api_version})",
            findings if strict else (),
        )
    obj = decoded.obj
    if gvk is not expected:  # else the body said so itself
        obj["apiVersion"] = expected.api_version
        obj["kind"] = expected.kind
    return DecodedBody(obj, expected, findings if strict else [], parsed)


def decode_options(content_type: str, body: bytes, kind: str) -> dict[str, Any]:
    """A body of options (DeleteOptions), which clients send under any group's version.
    Raises UnsupportedMediaType or BodyRejected."""

    def options_type(gvk: GVK) -> str:
        # It is the same in every version of every group, also in those that nobody has.
        if gvk.kind != kind:
            raise _Fault(_unregistered(gvk, _OPTIONS_SCHEME), gvk)
        return _META + kind

    try:
        _, decoded, _ = _decode(input_format(content_type), body, GVK("", "v1", kind), options_type)
    except _Fault as fault:
        raise BodyRejected(str(fault)) from None
    return decoded.obj


def parse_body(content_type: str, body: bytes, expected: GVK, *, duplicates: bool = False) -> ParsedBody:
    """A JSON or YAML body and the kind it claims to be. Raises UnsupportedMediaType or BodyRejected."""
    body_format = input_format(content_type)
    try:
        if body_format == "protobuf":
            raise _Fault("protobuf is understood for built-in kinds only")
        return ParsedBody(*_parse(body_format, body, expected, duplicates=duplicates))
    except _Fault as fault:
        raise _rejection(fault, expected, body) from None


def claimed_kind(value: dict[str, Any]) -> GVK:
    """What an object says it is, nothing added. Raises BodyRejected when that makes no sense."""
    try:
        return _claimed(value, GVK("", "", ""))
    except _Fault as fault:
        raise BodyRejected(str(fault)) from None


def kind_error(value: Any, expected: GVK) -> str:
    """Why an object is not of the expected built-in kind; empty when it is, in any version of the kind."""
    try:
        gvk = _claimed(value, expected)
        if gvk is not expected:
            _registered(gvk)
            _check_conversion(gvk, expected)
    except _Fault as fault:
        return str(fault)
    return ""


def strict_error(strict_errors: list[str]) -> str:
    """How strict findings are told as one error."""
    return "strict decoding error: " + ", ".join(strict_errors)


def _decode(
    body_format: Format, body: bytes, expected: GVK, find_type: Callable[[GVK], str]
) -> tuple[GVK, Decoded, dict[str, Any] | None]:
    if body_format == "protobuf":
        return *_decode_protobuf(body, expected, find_type), None
    value, gvk, found = _parse(body_format, body, expected, duplicates=True)
    name = find_type(gvk)
    try:
        decoded = decode_type(name, value)
    except DecodeError as error:
        text = str(error)
        if body_format == "json" and "number" in text:
            text = _as_written(name, body) or text
        raise _Fault(text, gvk) from None
    if found:
        decoded = Decoded(decoded.obj, [*found, *decoded.strict_errors])
    return gvk, decoded, value


def _parse(
    body_format: Format, body: bytes, expected: GVK, *, duplicates: bool
) -> tuple[dict[str, Any], GVK, list[str]]:
    strict_errors: list[str] = []
    try:
        if body_format == "yaml":
            from steersman.cluster.codec import yaml

            value, strict_errors = yaml.parse(body)
        else:
            value = json.parse(body, duplicates=duplicates)
    except Malformed as error:
        raise _Fault(str(error) if body_format == "yaml" else f"{_NO_KIND}{error}") from None
    if value is None:
        value = {}
    return value, _claimed(value, expected), strict_errors


def _claimed(value: Any, expected: GVK) -> GVK:
    """What a body says it is: `expected` itself if it says exactly that."""
    if not isinstance(value, dict):
        found_type = go_messages.json_type(value)
        raise _Fault(f"{_NO_KIND}json: cannot unmarshal {found_type} into Go value of type {_TYPE_META}")
    if value.get("kind") == expected.kind and value.get("apiVersion") == expected.api_version:
        return expected
    for name in ("apiVersion", "kind"):
        found = value.get(name)
        if found is not None and not isinstance(found, str):
            found_type = go_messages.json_type(found)
            into = f"Go struct field .{name} of type string"
            raise _Fault(f"{_NO_KIND}json: cannot unmarshal {found_type} into {into}")
    return _with_defaults(value.get("apiVersion") or "", value.get("kind") or "", expected)


def _with_defaults(api_version: str, kind: str, expected: GVK) -> GVK:
    """What a body says it is; what it does not say is as expected."""
    if api_version.count("/") > 1:
        raise _Fault(f"unexpected GroupVersion string: {api_version}")
    gvk = GVK.of(api_version, kind or expected.kind)
    if not gvk.version and gvk.group in ("", expected.group):
        gvk = gvk._replace(group=expected.group, version=expected.version)
    return gvk


def _as_written(name: str, body: bytes) -> str:
    """The same error from numbers as they were written: Go quotes them so."""
    try:
        decode_type(name, json.parse_exactly(body))
    except DecodeError as error:
        return str(error)
    return ""


def _decode_protobuf(body: bytes, expected: GVK, find_type: Callable[[GVK], str]) -> tuple[GVK, Decoded]:
    gvk: GVK | None = None
    try:
        from steersman.cluster.codec import protobuf

        envelope = protobuf.open_envelope(body)
        gvk = _with_defaults(envelope.api_version, envelope.kind, expected)
        return gvk, Decoded(protobuf.decode(find_type(gvk), envelope.raw), [])
    except Malformed as error:
        raise _Fault(str(error), gvk) from None


def _registered(gvk: GVK) -> str:
    name = type_name(gvk) or type_name(current_kind(gvk))
    if name is None:
        raise _Fault(_unregistered(gvk, _SCHEME), gvk)
    return name


def _unregistered(gvk: GVK, scheme: str) -> str:
    return f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme "{scheme}"'


def _check_conversion(gvk: GVK, expected: GVK) -> None:
    target = internal_type(expected)
    if internal_type(current_kind(gvk)) != target:
        raise _Fault(f"converting ({gvk.version}.{gvk.kind}) to ({target}): unknown conversion", gvk)


def internal_type(gvk: GVK) -> str:
    """The type all versions of a kind are converted through, as Go names it: core.ConfigMap."""
    package = gvk.group.partition(".")[0] or "core"
    return f"{'core' if package == 'events' else package}.{gvk.kind}"


def _rejection(fault: _Fault, expected: GVK, body: bytes) -> BodyRejected:
    if fault.gvk is not None:
        claimed = f'{fault.gvk.kind} in version "{fault.gvk.version}"'
        return BodyRejected(f"{claimed} cannot be handled as a {expected.kind}: {fault}")
    return unrecognized(str(fault), expected, body)


def unrecognized(why: str, expected: GVK, body: bytes) -> BodyRejected:
    """The answer to a body of which no kind is known."""
    return BodyRejected(
        f"the object provided is unrecognized (must be of type {expected.kind}): {why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start = body[:_SUMMARY_LENGTH]
    shown = start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()
    return shown if len(body) <= _SUMMARY_LENGTH else shown + " ..."
