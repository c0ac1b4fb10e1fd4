"""Errors of a Raft node; the core's own are in `steersman.raft.core.errors`.

NodeError
├── StorageError       the folder cannot be used; one line says why (terminal: somebody must look)
├── SettingsError      settings that name nothing or would not be safe (caller's fault)
├── NodeStopped        the node does not run, or was stopped meanwhile
├── PeerUnavailable    a peer did not answer, or nobody that leads: nothing was changed (retryable)
├── NotAllowed         the nodes do not do this for this caller (terminal)
└── OutcomeUnknown     a proposal may or may not have been applied: its answer was compacted away or lost
"""

from __future__ import annotations

__all__ = [
    "NodeError",
    "NodeStopped",
    "NotAllowed",
    "OutcomeUnknown",
    "PeerUnavailable",
    "SettingsError",
    "StorageError",
]


class NodeError(Exception):
    """Anything a node raises on purpose, beside the core's refusals."""


class StorageError(NodeError):
    """What is stored cannot be used, or nothing can be stored."""


class SettingsError(NodeError, ValueError):
    """The settings cannot be used; one sentence says why."""


class NodeStopped(NodeError):
    """The node is not running."""


class PeerUnavailable(NodeError):
    """No answer, or none that makes sense."""


class NotAllowed(NodeError):
    """Whoever asks again is told the same."""


class OutcomeUnknown(NodeError):
    """Whoever asked has missed what became of the proposal."""
