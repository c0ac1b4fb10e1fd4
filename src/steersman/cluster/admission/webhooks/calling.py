"""HTTPS calls of webhooks: one connection pool per server, every wait and size limited.

Redirects are not followed: the answer must come from the configured server. A webhook that calls this API
server and so calls itself runs out of connections and then into its timeout.
"""

from __future__ import annotations

import posixpath
import socket
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import orjson

from steersman.cluster.admission.services import ServiceResolver, ServiceUnreachable
from steersman.cluster.admission.webhooks.configurations import ClientConfig
from steersman.http import Client, Timeouts, client_tls
from steersman.http.client.cache import ClientCache
from steersman.http.errors import ClientError, Disconnected, TimedOut
from steersman.objects.fields import quote

__all__ = ["CallError", "WebhookClients"]

#: More places than this are not kept connected.
_CACHED_CLIENTS: Final = 200
_CONCURRENT_CALLS: Final = 64
#: An answer is a verdict and perhaps a patch; larger ones are refused unread.
MAX_ANSWER_BYTES: Final = 8 << 20
_CERTIFICATE_ERRORS: Final = {
    10: "certificate has expired or is not yet valid",
    18: "certificate signed by unknown authority",
    19: "certificate signed by unknown authority",
    20: "certificate signed by unknown authority",
    21: "certificate signed by unknown authority",
}
_HEADERS: Final = (
    (b"Content-Type", b"application/json"),
    (b"Accept", b"application/json, */*"),
    (b"User-Agent", b"kube-apiserver-admission"),
)
#: What a client says about an answer that is no success, by code; others by their class.
_STATUS_MESSAGES: Final[dict[int, str]] = {
    HTTPStatus.BAD_REQUEST: "the server rejected our request for an unknown reason",
    HTTPStatus.UNAUTHORIZED: "the server has asked for the client to provide credentials",
    HTTPStatus.NOT_FOUND: "the server could not find the requested resource",
    HTTPStatus.METHOD_NOT_ALLOWED: "the server does not allow this method on the requested resource",
    HTTPStatus.CONFLICT: "the server reported a conflict",
    HTTPStatus.UNPROCESSABLE_ENTITY: "the server rejected our request due to an error in our request",
    HTTPStatus.TOO_MANY_REQUESTS: (
        "the server has received too many requests and has asked us to try again later"
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: "the server is currently unable to handle the request",
    HTTPStatus.GATEWAY_TIMEOUT: (
        "the server was unable to return a response in the time allotted, but may still be processing the "
        "request"
    ),
}


class CallError(Exception):
    """No usable HTTP response; the message is the one a Go client would give."""

    def __init__(self, message: str, code: int = 503) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Destination:
    """The origin, CA and server name of one connection pool."""

    origin: str
    ca: bytes
    server_name: str


class WebhookClients:
    """The connection pools of all webhooks."""

    def __init__(self, resolver: ServiceResolver, concurrent_calls: int = _CONCURRENT_CALLS) -> None:
        """At most `concurrent_calls` to one place at the same time; more wait for their turn."""
        self._resolver = resolver
        self._concurrent_calls = concurrent_calls
        self._clients: ClientCache[_Destination] = ClientCache(self._connect, _CACHED_CLIENTS)

    async def post(self, config: ClientConfig, body: bytes, timeout_s: int) -> bytes:
        """Send a review, get the answer's body. Raises CallError."""
        url, host = _url(config)
        shown = f"{url}?timeout={timeout_s}s"
        try:
            client = self._clients.to(self._place(config))
        except (ServiceUnreachable, ValueError, ssl.SSLError) as error:
            raise CallError(f"Post {quote(shown)}: {error}") from error
        try:
            answer = await client.request(
                "POST",
                f"{urlsplit(url).path or '/'}?timeout={timeout_s}s",
                headers=((b"Host", host.encode("idna" if not host.isascii() else "ascii")), *_HEADERS),
                content=body,
                timeout_s=timeout_s,
            )
        except (ClientError, OSError) as error:
            raise CallError(f"Post {quote(shown)}: {_explain(error)}") from error
        said = answer.headers.get("content-type") or ""
        if not 200 <= answer.status <= 206:
            raise CallError(_refusal(answer.status, answer.content, said), answer.status)
        if not answer.content:
            why = f"0-length response with status code: {answer.status} and content type: {said}"
            raise CallError(why, answer.status)
        return answer.content

    def _place(self, config: ClientConfig) -> _Destination:
        if config.service is None:
            parts = urlsplit(config.url)
            if parts.scheme != "https" or not parts.hostname:
                raise ValueError(f"unsupported protocol scheme {quote(parts.scheme)}")
            return _Destination(f"https://{parts.netloc.rpartition('@')[2]}", config.ca, "")
        namespace, name = config.service
        host, port = self._resolver.resolve(namespace, name, config.port)
        shown = f"[{host}]" if ":" in host else host
        return _Destination(f"https://{shown}:{port}", config.ca, f"{name}.{namespace}.svc")

    def _connect(self, place: _Destination) -> Client:
        return Client(
            place.origin,
            ssl=client_tls(ca=place.ca or None, server_name=place.server_name or None),
            pool_size=self._concurrent_calls,
            timeouts=Timeouts(connect_s=30.0),
            max_response_bytes=MAX_ANSWER_BYTES,
        )

    async def close(self) -> None:
        await self._clients.close()


def _url(config: ClientConfig) -> tuple[str, str]:
    """The URL without query, as messages show it, and the Host header."""
    if config.service is None:
        parts = urlsplit(config.url)
        return f"{parts.scheme}://{parts.netloc}{_joined(parts.path)}", parts.netloc.rpartition("@")[2]
    namespace, name = config.service
    host = f"{name}.{namespace}.svc:{config.port}"
    return f"https://{host}{_joined(config.path)}", host


def _joined(path: str) -> str:
    """A path as Go joins it to its server: one slash before each part, none behind the last."""
    return "/" + posixpath.normpath(f"/{path}").lstrip("/")


def _explain(error: Exception) -> str:
    """What went wrong on the way, in the words operators search for."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__
    match cause:
        case ssl.SSLCertVerificationError():
            why = _CERTIFICATE_ERRORS.get(cause.verify_code, cause.verify_message)
            return f"tls: failed to verify certificate: x509: {why}"
        case ConnectionRefusedError():
            return f"dial tcp {_address_of(error)}connect: connection refused"
        case socket.gaierror():
            return "dial tcp: lookup failed: no such host"
    match error:
        case TimedOut():
            return "context deadline exceeded"
        case Disconnected():
            return "EOF"
    return str(error)


def _address_of(error: Exception) -> str:
    """`127.0.0.1:9443: ` from the client's message, where it names one."""
    where = str(error).removeprefix("no connection to ").partition(": ")
    return f"{where[0]}: " if where[1] and " " not in where[0] else ""


def _refusal(status: int, body: bytes, content_type: str) -> str:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    if isinstance(answer, dict) and answer.get("kind") == "Status" and answer.get("message"):
        return str(answer["message"])
    # Only text is for people to read.
    text = body[:2048].decode(errors="replace").strip() if content_type.startswith("text/") else ""
    text = text or "unknown"
    if status in _STATUS_MESSAGES:
        return _STATUS_MESSAGES[status]
    if status in (403, 406, 415):
        return text
    if status >= 500:
        return f"an error on the server ({quote(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"
