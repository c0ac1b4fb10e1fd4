"""The URL library: `url('https://example.com:80/').getHost()`, parsed as Go's net/url does."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import ClassVar, Final
from urllib.parse import quote, unquote_to_bytes

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import Function, function, member, overload
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.types import BOOL, STRING, list_of, map_of, opaque
from steersman.cluster.cel.values import Frame

__all__ = ["FUNCTIONS", "URL", "UrlError", "parse_request_uri"]

URL: Final = opaque("kubernetes.URL")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.*)", re.DOTALL)
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_HOST_CHARS: Final = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff]*")
#: What Go leaves as it is in a path.
_LONG: Final = 2_000
_PATH_SAFE: Final = "$&+,/:;=@-_.~!*'()"


class UrlError(ValueError):
    """Go's error message for an invalid URL."""


@dataclass(frozen=True, slots=True)
class Url:
    """A parsed URL."""

    cel_type: ClassVar[str] = "kubernetes.URL"
    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        name, _, _ = self.host.rpartition(":") if self._has_port() else (self.host, "", "")
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name

    @property
    def port(self) -> str:
        return self.host.rpartition(":")[2] if self._has_port() else ""

    def _has_port(self) -> bool:
        return ":" in self.host and not self.host.endswith("]")

    def values(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if not pair or ";" in pair:
                continue
            key, _, value = pair.partition("=")
            if _BAD_ESCAPE.search(key) or _BAD_ESCAPE.search(value):
                continue
            found.setdefault(_unescaped(key.replace("+", " ")), []).append(
                _unescaped(value.replace("+", " "))
            )
        return found


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace")


def _checked_escapes(text: str) -> None:
    if (bad := _BAD_ESCAPE.search(text)) is not None:
        raise UrlError(f"invalid URL escape {json.dumps(bad.group()[:3])}")


def parse_request_uri(text: str) -> Url:
    """An absolute URI or path, as Go's url.ParseRequestURI. Raises UrlError."""
    try:
        return _parsed(text)
    except UrlError as error:
        raise UrlError(f"parse {json.dumps(text)}: {error}") from error


def _parsed(text: str) -> Url:
    if any(char < " " or char == "\x7f" for char in text):
        raise UrlError("net/url: invalid control character in URL")
    if text == "":
        raise UrlError("empty url")
    if text == "*":
        return Url("", "", "*", "")
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, "", "", query)  # opaque, like mailto:someone
        raise UrlError("invalid URI for request")
    host = ""
    if (scheme or not rest.startswith("///")) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _host(authority), slash + path
    _checked_escapes(rest)
    return Url(scheme, host, rest, query)


def _split_scheme(text: str) -> tuple[str, str]:
    if (found := _SCHEME.fullmatch(text)) is not None:
        return found[1].lower(), found[2]
    first = text.partition("/")[0]
    if ":" in first:
        if first.startswith(":"):
            raise UrlError("missing protocol scheme")
        if not first[0].isalpha() and "?" not in first.partition(":")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    return "", text


def _host(authority: str) -> str:
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise UrlError("missing ']' in host")
        port = host[end + 1 :]
    else:
        name, colon, digits = host.rpartition(":")
        port = colon + digits if name or colon else ""
    if port and (not port.startswith(":") or not all("0" <= char <= "9" for char in port[1:])):
        raise UrlError(f"invalid port {json.dumps(port)} after host")
    matched = _HOST_CHARS.match(host)
    if matched is None or matched.end() < len(host):
        bad = host[0 if matched is None else matched.end()]
        raise UrlError(f"invalid character {json.dumps(bad)} in host name")
    _checked_escapes(host)
    return _unescaped(host) if "%" in host and not host.startswith("[") else host


def _escaped_path(url: Url) -> str:
    # Go keeps the spelling it was given where that is a valid encoding.
    return url.path if all(ord(char) < 0x80 for char in url.path) and " " not in url.path else quote(
        _unescaped(url.path), safe=_PATH_SAFE
    )  # fmt: skip


def _url(_frame: Frame, text: str) -> Url:
    try:
        # A fragment is part of a URL but not of a request: ParseRequestURI has the first word.
        parse_request_uri(text)
        return parse_request_uri(text.partition("#")[0])
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from error


def _price(text: str) -> int:
    """Kubernetes charges 1; what is longer than any real URL pays for itself."""
    return 1 + max(0, len(text) - _LONG) // 10


def _is_url(_frame: Frame, text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


FUNCTIONS: Final[list[Function]] = [
    function("url", overload("string_to_url", [STRING], URL, _url, costs.of_argument(0))),
    function("isURL", overload("is_url_string", [STRING], BOOL, _is_url, _price)),
    function("getScheme", member("url_get_scheme", [URL], STRING, lambda _f, url: url.scheme)),
    function("getHost", member("url_get_host", [URL], STRING, lambda _f, url: url.host)),
    function("getHostname", member("url_get_hostname", [URL], STRING, lambda _f, url: url.hostname)),
    function("getPort", member("url_get_port", [URL], STRING, lambda _f, url: url.port)),
    function(
        "getEscapedPath",
        member(
            "url_get_escaped_path",
            [URL],
            STRING,
            lambda _f, url: _escaped_path(url),
            lambda url: _price(url.path),
        ),
    ),
    function(
        "getQuery",
        member(
            "url_get_query",
            [URL],
            map_of(STRING, list_of(STRING)),
            lambda _f, url: url.values(),
            lambda url: 1 + max(0, len(url.query) - _LONG),
        ),
    ),
]
