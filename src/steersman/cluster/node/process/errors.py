"""The error of the process runtime.

RuntimeFailed (of `cluster.node`)
└── KeeperGone      the process that keeps the containers has ended, and they with it
"""

from __future__ import annotations

from steersman.cluster.node.errors import RuntimeFailed

__all__ = ["KeeperGone"]


class KeeperGone(RuntimeFailed):
    """The keeper process has ended, and its containers with it. The request was not carried out; a new keeper
    is being started.
    """
