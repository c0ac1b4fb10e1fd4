"""The Kubernetes API from Python: who to ask and as whom, objects, watches, logs and commands.

Start reading at `client` (what can be asked) and `sending` (what happens to a request).
"""

from __future__ import annotations

from steersman.client.client import Client, Object
from steersman.client.commands import Completed, Output, Process
from steersman.client.credentials import Credentials
from steersman.client.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    ClientError,
    CommandFailed,
    ConfigError,
    Conflict,
    CredentialsError,
    Expired,
    Forbidden,
    ForwardingFailed,
    ImpossibleName,
    Invalid,
    MethodNotAllowed,
    NoKubeconfig,
    NoSuchKind,
    NotFound,
    RequestTooLarge,
    ServerError,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
    UnsupportedMedia,
)
from steersman.client.forwarding import Tunnel
from steersman.client.listing import Listed, Page
from steersman.client.transport import Transport
from steersman.client.watching import WatchEvent, WatchEvents

__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Client",
    "ClientError",
    "CommandFailed",
    "Completed",
    "ConfigError",
    "Conflict",
    "Credentials",
    "CredentialsError",
    "Expired",
    "Forbidden",
    "ForwardingFailed",
    "ImpossibleName",
    "Invalid",
    "Listed",
    "MethodNotAllowed",
    "NoKubeconfig",
    "NoSuchKind",
    "NotFound",
    "Object",
    "Output",
    "Page",
    "Process",
    "RequestTooLarge",
    "ServerError",
    "Timeout",
    "TooManyRequests",
    "Transport",
    "Tunnel",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "UnsupportedMedia",
    "WatchEvent",
    "WatchEvents",
]
