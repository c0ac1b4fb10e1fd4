"""HTTP/1.1 and WebSocket on asyncio: a fast server and a pooling client.

Start reading at `server` and `connection` (how requests are answered) or at `client` (how they are
made); `parsing` has the rules that keep requests from being smuggled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.http.connection import Handler, OnError
from steersman.http.errors import HttpError, RequestRefused
from steersman.http.headers import Headers, RawHeaders
from steersman.http.limits import Limits
from steersman.http.request import Connection, Request
from steersman.http.response import Content, Joined, Response
from steersman.http.server import Server, is_served_here
from steersman.http.stream import Stream
from steersman.http.tls import ClientContext, client_tls, server_tls
from steersman.http.upgraded import Upgraded
from steersman.http.websocket import WebSocket
from steersman.lazy import lazy_names

if TYPE_CHECKING:
    from steersman.http.client import Client, ClientResponse, Proxy, StreamingResponse, Timeouts

__all__ = [
    "Client",
    "ClientContext",
    "ClientResponse",
    "Connection",
    "Content",
    "Handler",
    "Headers",
    "HttpError",
    "Joined",
    "Limits",
    "OnError",
    "Proxy",
    "RawHeaders",
    "Request",
    "RequestRefused",
    "Response",
    "Server",
    "Stream",
    "StreamingResponse",
    "Timeouts",
    "Upgraded",
    "WebSocket",
    "client_tls",
    "is_served_here",
    "server_tls",
]

if not TYPE_CHECKING:
    # A server starts sooner without the client.
    __getattr__ = lazy_names(__name__, {"client": "Client ClientResponse Proxy StreamingResponse Timeouts"})
