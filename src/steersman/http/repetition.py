"""Requests that repeat the header fields of an earlier one on their connection.

That is what most requests of a client are: only the first line differs, and with a body its length. The
fields that llhttp has accepted for exactly these bytes, in this place, need not be parsed again, which is
most of the time that parsing takes. The parser asks here before it parses; what is not told apart here
without doubt, and every limit, is the parser's.
"""

from __future__ import annotations

import re

from steersman.http.headers import Headers

__all__ = ["KnownFields", "Repeated"]

_METHODS = {method.encode(): method for method in ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD")}
# A request line that can be understood without llhttp.
_LINE = re.compile(rb"(%b) (/[A-Za-z0-9._~!$&'()*+,;=:@%%/?-]*) HTTP/1\.1" % b"|".join(_METHODS)).fullmatch
_LENGTH = re.compile(rb"\r\ncontent-length: ([0-9]{1,9})\r\n", re.IGNORECASE).search
_DIGITS = 9
_END = b"\r\n\r\n"


#: Method, target, fields and content, the last as it is on the wire.
Repeated = tuple[str, str, Headers, bytes]


class KnownFields:
    """The fields of a connection's last request without a body, and of its last one with."""

    __slots__ = ("_after", "_before", "_fields", "_headers", "_position", "_sized_headers")

    def __init__(self) -> None:
        # From the end of the first line to the end of the head.
        self._fields = b""
        self._headers = Headers([])
        # The same in two parts, around the digits of Content-Length, and which field that is.
        self._before = b""
        self._after = b""
        self._sized_headers = Headers([])
        self._position = 0

    def find(self, data: bytes) -> Repeated | None:
        """What `data` asks for, if it is one whole request with known fields."""
        end = data.find(b"\r\n")
        fields, before = self._fields, self._before
        if fields and len(data) == end + len(fields) and data.endswith(fields):
            headers, content = self._headers, b""
        elif before and data.startswith(before, end):
            start = end + len(before)
            stop = data.find(b"\r\n", start)
            digits = data[start:stop]
            if not digits.isdigit() or len(digits) > _DIGITS or not data.startswith(self._after, stop):
                return None
            content = data[stop + len(self._after) :]
            if len(content) != int(digits):
                return None
            headers = self._sized_headers
            if headers.raw[self._position][1] != digits:
                headers = headers.replacing(self._position, digits)
        else:
            return None
        line = _LINE(data, 0, end)
        if line is None:
            return None
        method, target = line.groups()
        return _METHODS[method], target.decode("ascii"), headers, content

    def remember(self, data: bytes, headers: Headers) -> None:
        """Keep the fields of `data`, which was parsed as one request with `headers`, uncoded content, and
        nothing unusual about it."""
        end, head = data.find(b"\r\n"), data.find(_END) + len(_END)
        if _LINE(data, 0, end) is None:
            return
        names = [name for name, _ in headers.raw]
        if b"content-length" not in names:
            if head == len(data):
                self._fields, self._headers = data[end:], headers
            return
        length = _LENGTH(data, end, head)
        if length is not None and head + int(length[1]) == len(data):
            self._before, self._after = data[end : length.start(1)], data[length.end(1) : head]
            self._sized_headers, self._position = headers, names.index(b"content-length")
