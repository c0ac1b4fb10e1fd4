"""Errors of a Raft node; the core's own are in `steersman.raft.core.errors`.

NodeError
├── StorageError       the folder cannot be used; one line says why (terminal: somebody must look)
├── SettingsError      settings that name nothing or would not be safe (caller's fault)
├── NodeStopped        the node does not run, or was stopped meanwhile
├── PeerUnavailable    a peer did not answer (retryable)
└── OutcomeUnknown     a proposal may or may not have been applied: the answer was compacted away
"""

from __future__ import annotations

__all__ = [
    "NodeError",
    "NodeStopped",
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


class OutcomeUnknown(NodeError):
    """This node missed what became of the proposal."""
