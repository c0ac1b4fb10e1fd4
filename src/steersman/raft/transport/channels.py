"""Connections to a node, and questions that have answers. Used by the network and by `steer raft`."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import grpc  # type: ignore[import-untyped]
import msgspec

from steersman.raft.errors import PeerUnavailable
from steersman.raft.state_machine import Located
from steersman.raft.transport.tls import TlsFiles

__all__ = ["OPTIONS", "SERVICE", "ask", "open_channel", "reason"]

T = TypeVar("T")

SERVICE = "steersman.raft.Raft"
_ASK_TIMEOUT_S = 5.0
_MAX_BYTES = 16 << 20
_ERROR_NUMBER = re.compile(r" \(\d+\)$")

#: Of both ends.
OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_BYTES),
    ("grpc.max_send_message_length", _MAX_BYTES),
    # Heartbeats that nobody acknowledges break a connection as soon; pings are for those that carry none.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 2_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
    ("grpc.http2.max_ping_strikes", 0),
    # A window as large as ever needed; finding out its size would take a ping for every heartbeat.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 1 << 20),
]
_CLIENT_OPTIONS = [
    *OPTIONS,
    # Every attempt is one of its own: what another found out about the address some time ago does not count.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
]


def open_channel(at: Located, tls: TlsFiles | None) -> Any:
    """With certificates, whoever answers must be called `at.name`."""
    if tls is None:
        return grpc.aio.insecure_channel(at.address, options=_CLIENT_OPTIONS)
    pems = tls.read()
    credentials = grpc.ssl_channel_credentials(pems.ca, pems.key, pems.cert)
    options = [*_CLIENT_OPTIONS, ("grpc.ssl_target_name_override", at.name)]
    return grpc.aio.secure_channel(at.address, credentials, options=options)


async def ask(at: Located, tls: TlsFiles | None, method: str, request: Any, reply: type[T]) -> T:
    """One question on a connection of its own. Raises PeerUnavailable."""
    channel = open_channel(at, tls)
    try:
        put = channel.unary_unary(f"/{SERVICE}/{method}")
        answer = await put(msgspec.msgpack.encode(request), timeout=_ASK_TIMEOUT_S)
        return msgspec.msgpack.decode(answer, type=reply)
    except (grpc.aio.AioRpcError, msgspec.MsgspecError) as error:
        raise PeerUnavailable(f"{at.name} at {at.address}: {reason(error)}") from error
    finally:
        await channel.close()


def reason(error: BaseException) -> str:
    """Why, without what gRPC says before it comes to that, and the error's number after it."""
    details = getattr(error, "details", None)
    text = str(details() if callable(details) else error)
    why = text.rpartition("last error: ")[2].rpartition("remote host: ")[2].removeprefix("connect: ")
    return _ERROR_NUMBER.sub("", why)
