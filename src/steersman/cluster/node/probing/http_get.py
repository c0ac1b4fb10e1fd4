"""HTTP GET requests to containers for probes and hooks: no proxies, no certificate verification, no
keep-alive.

Error messages are the kubelet's.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from functools import cache
from typing import Final, NamedTuple
from urllib.parse import quote as percent_encoded
from urllib.parse import urljoin, urlsplit

from steersman.cluster.node.probing.outcome import (
    OUTPUT_BYTES,
    ProbeErrored,
    ProbeOutcome,
    failure,
    port_number,
)
from steersman.cluster.schema.version import KUBERNETES_MINOR
from steersman.http import Client, ClientContext, HttpError, Timeouts, client_tls
from steersman.http.errors import ConnectFailed, TimedOut
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Container, HTTPGetAction

__all__ = [
    "NOT_HTTPS",
    "GetFailed",
    "GetResponse",
    "action_headers",
    "action_url",
    "dialling",
    "http_get",
    "http_probe",
]

NOT_HTTPS: Final = "http: server gave HTTP response to HTTPS client"
_REDIRECTS: Final = 10
_REDIRECTING: Final = frozenset((301, 302, 303, 307, 308))
#: What may stand in a request's target as it is.
_SAFE: Final = "/?&=%:@!$'()*+,;-._~[]#"

Headers = tuple[tuple[bytes, bytes], ...]


class GetFailed(Exception):
    """The request got no response."""


class GetResponse(NamedTuple):
    """The status and body of a response."""

    status: int
    body: str


def action_url(action: HTTPGetAction, container: Container, ip: str) -> str:
    """Where an httpGet action leads. Raises `ProbeErrored`."""
    scheme = (action.get("scheme") or "http").lower()
    port = port_number(container, action["port"])
    path: str = action.get("path") or ""
    if not path.startswith("/"):
        path = f"/{path}" if path else ""
    return f"{scheme}://{_joined(action.get('host') or ip, port)}{path}"


def action_headers(action: HTTPGetAction, purpose: str) -> Headers:
    """The header fields of an action; `purpose` is who asks."""
    given = [(one["name"], one.get("value", "")) for one in action.get("httpHeaders") or ()]
    names = {name.lower() for name, _ in given}
    fields = [(name, value) for name, value in given if name.lower() != "accept" or value]
    for name, value in (
        ("User-Agent", f"kube-{purpose}/{KUBERNETES_MINOR}"),
        ("Accept", "*/*"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ):
        if name.lower() not in names:
            fields.append((name, value))
    return tuple((name.encode(), value.encode()) for name, value in fields)


async def http_probe(action: HTTPGetAction, container: Container, ip: str, timeout_s: float) -> ProbeOutcome:
    url = action_url(action, container, ip)
    try:
        got = await http_get(url, action_headers(action, "probe"), timeout_s)
    except GetFailed as error:
        return failure(str(error))
    if 200 <= got.status < 300:
        return ProbeOutcome("success", got.body)
    if 300 <= got.status < 400:
        return ProbeOutcome("warning", f"Probe terminated redirects, Response body: {got.body}")
    return failure(f"HTTP probe failed with statuscode: {got.status}")


async def http_get(url: str, headers: Headers, timeout_s: float) -> GetResponse:
    """Ask, and follow redirects that stay on the host. Raises `GetFailed`, `ProbeErrored`."""
    host = urlsplit(url).hostname
    at = url
    try:
        async with asyncio.timeout(timeout_s):
            for _ in range(_REDIRECTS):
                got, leads_to = await _get_once(at, headers, timeout_s)
                if not leads_to or urlsplit(leads_to).hostname != host:
                    return got
                at = leads_to
    except TimeoutError as error:
        why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        raise GetFailed(f"Get {quote(at)}: {why}") from error
    raise GetFailed(f"Get {quote(at)}: stopped after {_REDIRECTS} redirects")


async def _get_once(url: str, headers: Headers, timeout_s: float) -> tuple[GetResponse, str]:
    """The answer, and where it leads if it redirects."""
    parts = urlsplit(url)
    target = percent_encoded(parts.path or "/", safe=_SAFE)
    if parts.query:
        target += "?" + percent_encoded(parts.query, safe=_SAFE)
    tls = _any_certificate() if parts.scheme == "https" else None
    timeouts = Timeouts(connect_s=timeout_s, total_s=timeout_s)
    try:
        async with (
            Client(f"{parts.scheme}://{parts.netloc}", ssl=tls, timeouts=timeouts) as client,
            client.stream("GET", target, headers=headers) as answer,
        ):
            body = b""
            async for chunk in answer.chunks():
                body += chunk
                if len(body) >= OUTPUT_BYTES:
                    break
        location = answer.headers.get("location") if answer.status in _REDIRECTING else None
    except TimedOut as error:
        raise TimeoutError from error
    except ConnectFailed as error:
        raise GetFailed(f"Get {quote(url)}: {dialling(parts.netloc, error.__cause__)}") from error
    except HttpError as error:
        raise GetFailed(f"Get {quote(url)}: EOF") from error
    except ValueError as error:
        raise ProbeErrored(str(error)) from error
    text = body[:OUTPUT_BYTES].decode(errors="replace")
    return GetResponse(answer.status, text), urljoin(url, location) if location else ""


@cache
def _any_certificate() -> ClientContext:
    return client_tls(insecure=True)


def dialling(where: str, error: BaseException | None) -> str:
    """Why there is no connection."""
    if isinstance(error, ssl.SSLError):
        told = error.reason or str(error)
        return NOT_HTTPS if told in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST") else f"tls: {told.lower()}"
    if isinstance(error, OSError) and error.errno is not None:
        return f"dial tcp {where}: connect: {os.strerror(error.errno).lower()}"
    return f"dial tcp {where}: {error}"


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
