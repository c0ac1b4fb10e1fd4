"""The format library: `format.dns1123Label().validate(name)` is none, or a list of errors."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from steersman.cluster.cel.functions import Function, function, member, overload
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.library.urls import UrlError, parse_request_uri
from steersman.cluster.cel.times import parse_timestamp
from steersman.cluster.cel.types import STRING, list_of, opaque, optional_of
from steersman.cluster.cel.values import NONE, Frame, Optional
from steersman.objects import names

__all__ = ["FORMAT", "FORMATS", "FUNCTIONS", "NamedFormat"]

FORMAT: Final = opaque("kubernetes.NamedFormat")
_UUID: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A named format with its validation function."""

    cel_type: ClassVar[str] = "kubernetes.NamedFormat"
    name: str
    errors: Callable[[str], list[str]]
    #: How long its regular expression is taken to be when costs are computed.
    pattern_size: int


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _uuid(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> list[str]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return []


def _time(suffix: str, problem: str) -> Callable[[str], list[str]]:
    def errors(text: str) -> list[str]:
        try:
            parse_timestamp(text + suffix)
        except ValueError:
            return [problem]
        return []

    return errors


def _prefix(check: Callable[[str, bool], list[str]]) -> Callable[[str], list[str]]:
    return lambda text: check(text, True)


FORMATS: Final[dict[str, NamedFormat]] = {
    "dns1123Label": NamedFormat("DNS1123Label", names.name_is_dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", names.name_is_dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", names.name_is_dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", names.is_label_key, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix(names.name_is_dns_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix(names.name_is_dns_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix(names.name_is_dns1035_label), 30),
    "labelValue": NamedFormat("LabelValue", names.is_label_value, 40),
    "uri": NamedFormat("URI", _uri, 1000),
    "uuid": NamedFormat("uuid", _uuid, 77),
    "byte": NamedFormat("byte", _byte, 200),
    "date": NamedFormat("date", _time("T00:00:00Z", "invalid date"), 187),
    "datetime": NamedFormat("datetime", _time("", "invalid datetime"), 187),
}


def _named(_frame: Frame, name: str) -> Optional:
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate(_frame: Frame, kind: NamedFormat, text: str) -> Optional:
    errors = kind.errors(text)
    return Optional(errors) if errors else NONE


def _price(kind: NamedFormat, text: str) -> int:
    return costs.tenth(1 + len(text)) * ((kind.pattern_size + 3) // 4)


FUNCTIONS: Final[list[Function]] = [
    function("format.named", overload("format-named", [STRING], optional_of(FORMAT), _named)),
    function(
        "validate",
        member("format-validate", [FORMAT, STRING], optional_of(list_of(STRING)), _validate, _price),
    ),
    *(
        function(f"format.{name}", overload(f"format.{name}", [], FORMAT, lambda _f, kind=kind: kind))
        for name, kind in FORMATS.items()
    ),
]
