"""The dashboard's files, as the package carries them."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files

from steersman.http import Request, Response

__all__ = ["is_page", "page"]

_FILES = {
    "/": ("index.html", b"text/html; charset=utf-8"),
    "/dashboard.css": ("dashboard.css", b"text/css; charset=utf-8"),
    "/dashboard.js": ("dashboard.js", b"text/javascript; charset=utf-8"),
}
#: Nothing from elsewhere, nothing inline, in nobody's frame.
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFETY = (
    (b"Content-Security-Policy", _POLICY),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"Referrer-Policy", b"no-referrer"),
    (b"Cross-Origin-Opener-Policy", b"same-origin"),
    # Asked for anew each time, and mostly answered with "not modified".
    (b"Cache-Control", b"no-cache"),
)


@lru_cache(maxsize=len(_FILES))
def _load(name: str) -> tuple[bytes, bytes]:
    content = files("steersman.highlander.dashboard").joinpath(name).read_bytes()
    return content, b'"%b"' % hashlib.sha256(content).hexdigest()[:20].encode()


def is_page(path: str) -> bool:
    return path in _FILES


def page(request: Request) -> Response | None:
    """The answer if a file of the dashboard is asked for."""
    found = _FILES.get(request.path)
    if found is None or request.method not in ("GET", "HEAD"):
        return None
    name, content_type = found
    content, tag = _load(name)
    headers = ((b"Content-Type", content_type), (b"ETag", tag), *_SAFETY)
    if (request.headers.get("if-none-match") or "").encode() == tag:
        return Response(304, b"", headers)
    return Response(200, content, headers)
