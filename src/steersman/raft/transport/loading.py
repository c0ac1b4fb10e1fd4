"""gRPC, loaded when a node or a client needs it: it is large, not always installed, and reads its settings
from the environment when it is loaded."""

from __future__ import annotations

import os

from steersman.raft.errors import NodeError

__all__ = ["load_grpc"]

_SETTINGS = {
    # It reports every connection that ends, unless told not to.
    "GRPC_VERBOSITY": "ERROR",
    # Its event engine hands every message to another thread: three nodes at rest take 4.4 % of a core with
    # it, 2.7 to 3.1 % without (`python -m benchmarks raft`).
    "GRPC_EXPERIMENTS": "-event_engine_client,-event_engine_listener",
}


def load_grpc() -> None:
    """Before the modules that import it. Raises NodeError where it is not installed."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import grpc  # type: ignore[import-untyped] # noqa: F401
    except ModuleNotFoundError as error:
        raise NodeError("Raft needs `pip install 'steersman[raft]'`") from error
