"""The HTTP client: a pool of connections to one server.

`client` is what callers use, `pool` decides which connection carries a request, `connection` speaks
HTTP/1.1 on one of them, `proxy` leads through another server, `response` is what comes back.
"""

from __future__ import annotations

from steersman.http.client.client import Client, Timeouts
from steersman.http.client.proxy import Proxy
from steersman.http.client.response import ClientResponse, StreamingResponse

__all__ = ["Client", "ClientResponse", "Proxy", "StreamingResponse", "Timeouts"]
