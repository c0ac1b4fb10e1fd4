"""Rewriting of links in proxied HTML pages, so that they lead through the proxy.

Redirects always; in HTML the attributes that hold URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from steersman.http import Headers

__all__ = ["ProxiedLinks"]

_URL_ATTRIBUTES: Final = {
    "a": {"href"}, "applet": {"codebase"}, "area": {"href"}, "audio": {"src"}, "base": {"href"},
    "blockquote": {"cite"}, "body": {"background"}, "button": {"formaction"}, "command": {"icon"},
    "del": {"cite"}, "embed": {"src"}, "form": {"action"}, "frame": {"longdesc", "src"},
    "head": {"profile"}, "html": {"manifest"}, "iframe": {"longdesc", "src"},
    "img": {"longdesc", "src", "usemap"}, "input": {"src", "usemap", "formaction"}, "ins": {"cite"},
    "link": {"href"}, "object": {"classid", "codebase", "data", "usemap"}, "q": {"cite"},
    "script": {"src"}, "source": {"src"}, "video": {"poster", "src"},
}  # fmt: skip
#: A comment's beginning, or that of an element. Each is looked at once, whatever a hostile page contains.
_TAG: Final = re.compile(r"<!--|<(?P<name>[a-z][a-z0-9]{0,15})\b[^<>]{0,4096}>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"(?P<before>\s(?P<name>[a-z-]+)\s*=\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"'>]+)", re.IGNORECASE
)
#: What these contain is text, whatever it looks like. A comment has no name.
_END_OF_TEXT: Final = {"": re.compile("-->")} | {
    name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "textarea", "title")
}


class ProxiedLinks:
    """How answers change on their way back through one proxy (a `Rewriting`)."""

    def __init__(self, prefix: str, backend: str, own_host: str) -> None:
        """`prefix` is the proxy's path; `backend` and `own_host` are the hosts a page may know itself by."""
        self._prefix = prefix
        self._backend = backend
        self._own_host = own_host

    def headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return [
            (name, self.link(value.decode("latin-1")).encode("latin-1") if name == b"location" else value)
            for name, value in headers
        ]

    def concerns(self, headers: Headers) -> bool:
        kind = (headers.get("content-type") or "").partition(";")[0].strip().lower()
        coding = headers.tokens("content-encoding")
        return kind == "text/html" and coding in ([], ["gzip"]) and "location" not in headers

    def body(self, content: bytes) -> bytes:
        text = content.decode(errors="surrogateescape")
        return "".join(self._pieces(text)).encode(errors="surrogateescape")

    def link(self, url: str) -> str:
        """Where a link leads seen from outside the proxy."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return url
        if parts.netloc not in ("", self._backend, self._own_host) or not parts.path.startswith("/"):
            return url
        if parts.netloc != self._own_host:
            parts = parts._replace(scheme="", netloc="")
        if not parts.path.startswith(self._prefix):
            parts = parts._replace(path=self._prefix + parts.path)
        return urlunsplit(parts)

    def _pieces(self, text: str) -> Iterator[str]:
        position = 0
        while (found := _TAG.search(text, position)) is not None:
            name = (found["name"] or "").lower()
            yield text[position : found.start()]
            yield self._tag(found[0], name)
            position = found.end()
            end = _END_OF_TEXT.get(name)
            if end is not None:
                over = end.search(text, position)
                start, position = position, over.start() if over is not None else len(text)
                yield text[start:position]
        yield text[position:]

    def _tag(self, tag: str, name: str) -> str:
        attributes = _URL_ATTRIBUTES.get(name)
        if attributes is None:
            return tag

        def rewritten(found: re.Match[str]) -> str:
            if found["name"].lower() not in attributes:
                return found[0]
            url = unescape(found["value"].strip("\"'"))
            link = self.link(url)
            return f'{found["before"]}"{escape(link)}"' if link != url else found[0]

        return _ATTRIBUTE.sub(rewritten, tag)
