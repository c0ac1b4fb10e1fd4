"""String formats that schemas may name, each judged as Kubernetes judges it.

Names are compared without hyphens: `date-time` and `datetime` are one format. A format that is not listed
here constrains nothing. `FORMATS` is what `explain` and the engine behind `translate` both ask, so they
agree.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Any, Final

from steersman.objects.addresses import is_legacy_cidr, is_legacy_ip

__all__ = ["FORMATS", "effective_format", "is_duration"]

#: The formats that numbers may have.
_NUMERIC: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def effective_format(schema: dict[str, Any]) -> str:
    """The format of a schema as far as it constrains anything, empty when it does not."""
    name: str = schema.get("format") or ""
    kind = schema.get("type") or ""
    if schema.get("x-kubernetes-int-or-string"):
        return ""
    if kind in ("", "string"):
        return name if name.replace("-", "") in FORMATS else ""
    return name if name in _NUMERIC.get(kind, ()) else ""


def _fits(pattern: str, flags: re.RegexFlag = re.ASCII) -> Callable[[str], bool]:
    found = re.compile(pattern, flags).fullmatch
    return lambda text: found(text) is not None


_is_date_shape = _fits(r"\d{4}-\d\d-\d\d")


def _is_date(text: str) -> bool:
    if not _is_date_shape(text):
        return False
    try:
        # Go's calendar has a year 0, which is a leap year as 2000 is.
        date.fromisoformat(text if not text.startswith("0000") else "2000" + text[4:])
    except ValueError:
        return False
    return True


_time_of_day = re.compile(r"(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)", re.ASCII).fullmatch


def _is_date_time(text: str) -> bool:
    day, separator, rest = text.lower().partition("t")
    if not separator or not _is_date(day):
        return False
    matched = _time_of_day(rest.partition("t")[0])
    return matched is not None and matched[1] <= "23" and matched[2] <= "59" and matched[3] <= "59"


_is_go_duration = _fits(r"[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.NOFLAG)
_scala_parts = re.compile(r"([0-9]+)\s*([A-Za-zµ]+)").findall
_SCALA_EXACT: Final = frozenset({"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"})
_SCALA_PREFIXES: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def is_duration(text: str) -> bool:
    """Go's durations, and those of Scala ("2 days") anywhere in the text."""
    if _is_go_duration(text):
        return True
    units = [unit.lower() for _, unit in _scala_parts(text)]
    return any(unit in _SCALA_EXACT or unit.startswith(_SCALA_PREFIXES) for unit in units)


_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL).fullmatch
_bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_is_authority = _fits(
    r"(?:[^@/?#\[\]\s]*@)?(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|[^\[\]:@/?#\s\"<>^`{|}\\]*)(?::\d*)?", re.NOFLAG
)


def _is_request_uri(text: str) -> bool:
    """An absolute URI or an absolute path."""
    if not text or any(char < " " or char == "\x7f" for char in text):
        return False
    if text == "*":
        return True
    matched = _scheme(text)
    rest = matched[2] if matched else text
    path, _, _ = rest.partition("?")
    if not path.startswith("/"):
        return matched is not None
    if path.startswith("//") and matched:
        authority, _, path = path[2:].partition("/")
        if not _is_authority(authority):
            return False
    return _bad_escape(path) is None


_ATOM: Final = r"[^\s\x00-\x1f\x7f()<>\[\]:;@\\,.\"]+"
_QUOTED: Final = r"\"(?:[^\"\\\r\n]|\\.)*\""
_ADDRESS: Final = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:{_ATOM}(?:\.{_ATOM})*|\[[0-9A-Fa-f:.]+\])"
_is_email = _fits(
    rf"\s*(?:{_ADDRESS}|(?:(?:{_QUOTED}|[^\s\x00-\x1f\x7f()<>\[\]:;@\\,\"]+)\s*)*<{_ADDRESS}>)\s*", re.NOFLAG
)


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if len(text.encode()) > 255 or any(not _is_host_label(label) for label in labels):
        return False
    last = labels[-1]
    return len(labels) == 1 or (
        2 <= len(last) <= 63 and all(unicodedata.category(char)[0] == "L" for char in last)
    )


def _is_host_label(label: str) -> bool:
    if not label or len(label.encode()) > 63 or label[0] == "-" or label[-1] == "-":
        return False
    return all(
        char == "-" or (char.isascii() and char.isdigit()) or unicodedata.category(char)[0] in "LS"
        for char in label
    )


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}X|[0-9]{10}", digits):
        return False
    values = [10 if char == "X" else int(char) for char in digits]
    return sum((index + 1) * value for index, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(char) * (1, 3)[index % 2] for index, char in enumerate(digits)) % 10 == 0


_is_card_number = _fits(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(?:222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)"
    r"[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
    r"|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})"
)


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _is_card_number(digits):
        return False
    doubled = [int(char) * (1 + index % 2) for index, char in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_ipv4(text: str) -> bool:
    return "." in text and not is_legacy_ip(text, strict=False)


def _is_ipv6(text: str) -> bool:
    return ":" in text and not is_legacy_ip(text, strict=False)


_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})"
_MAC: Final = "|".join(
    rf"[0-9A-Fa-f]{{{width}}}(?:{separator}[0-9A-Fa-f]{{{width}}}){{{count // width * 2 - 1}}}"
    if width == 2
    else rf"[0-9A-Fa-f]{{4}}(?:\.[0-9A-Fa-f]{{4}}){{{count // 2 - 1}}}"
    for count in (6, 8, 20)
    for width, separator in ((2, ":"), (2, "-"), (4, r"\."))
)


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    shape = rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}"
    return _fits(shape, re.ASCII | re.IGNORECASE)


_SHORT_NAME: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_is_short_name = _fits(_SHORT_NAME)


#: What tells whether a text has the format, by the format's name without hyphens.
FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _fits(r"[0-9A-Fa-f]{24}"),
    "byte": _fits(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": lambda text: not is_legacy_cidr(text, strict=False),
    "creditcard": _is_credit_card,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": is_duration,
    "email": _is_email,
    "hexcolor": _fits(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": lambda text: len(text) <= 253 and all(map(_is_short_name, text.split("."))),
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "mac": _fits(_MAC),
    "password": lambda text: True,
    "rgbcolor": _fits(rf"rgb\(\s*{_OCTET}\s*,\s*{_OCTET}\s*,\s*{_OCTET}\s*\)"),
    "ssn": _fits(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": _is_request_uri,
    "uuid": _uuid("[0-9a-f]{4}", "[0-9a-f]{4}"),
    "uuid3": _uuid("3[0-9a-f]{3}", "[0-9a-f]{4}"),
    "uuid4": _uuid("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "uuid5": _uuid("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
}
