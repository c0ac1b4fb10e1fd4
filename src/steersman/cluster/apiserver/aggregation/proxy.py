"""Forwarding of a request to an aggregated API server, with the user in its headers."""

from __future__ import annotations

from steersman.cluster.apiserver.aggregation.identity import identity_headers, is_identity
from steersman.cluster.apiserver.forwarding.relay import ForwardedRequest, forwarded_headers, relay, splice
from steersman.cluster.auth.users import User
from steersman.http import Request, Response
from steersman.http.errors import ClientError
from steersman.http.transport import UpgradableTransport

__all__ = ["forward", "unavailable_response"]


def unavailable_response(why: str) -> Response:
    """503 in plain text, as the aggregator says it."""
    text = ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"))
    return Response(503, why.encode() + b"\n", text)


async def forward(transport: UpgradableTransport, request: Request, user: User) -> Response | None:
    """The answer, or None when it was given as a stream or the connection was taken over."""
    headers = [field for field in forwarded_headers(request) if not is_identity(field[0])]
    forwarded = ForwardedRequest(
        transport, _target(request), [*headers, *identity_headers(user)], request.method
    )
    try:
        return await (splice if request.upgradable else relay)(forwarded, request)
    except ClientError as error:
        return unavailable_response(f"error trying to reach service: {error}")


def _target(request: Request) -> str:
    """Path and query as they came, whatever form the request line had."""
    return f"{request.raw_path}?{request.query_string}" if request.query_string else request.raw_path
