"""One request passed on to an aggregated API server, in the name of whoever made it."""

from __future__ import annotations

from steersman.cluster.apiserver.aggregation.identity import identity_headers, is_identity
from steersman.cluster.apiserver.forwarding.relay import Onward, passed_on, relay, splice
from steersman.cluster.auth.users import User
from steersman.http import Client, Request, Response
from steersman.http.errors import ClientError

__all__ = ["forward", "unavailable_response"]


def unavailable_response(why: str) -> Response:
    """503 in plain text, as the aggregator says it."""
    text = ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"))
    return Response(503, why.encode() + b"\n", text)


async def forward(client: Client, request: Request, user: User) -> Response | None:
    """The answer, or None when it was given as a stream or the connection was taken over."""
    headers = [field for field in passed_on(request) if not is_identity(field[0])]
    onward = Onward(client, _target(request), [*headers, *identity_headers(user)], request.method)
    try:
        return await (splice if request.upgradable else relay)(onward, request)
    except ClientError as error:
        return unavailable_response(f"error trying to reach service: {error}")


def _target(request: Request) -> str:
    """Path and query as they came, whatever form the request line had."""
    return f"{request.raw_path}?{request.query_string}" if request.query_string else request.raw_path
