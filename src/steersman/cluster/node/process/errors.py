"""What goes wrong with processes.

RuntimeFailed (of `cluster.node`)
└── KeeperGone      the process that keeps the containers has ended, and they with it
"""

from __future__ import annotations

from steersman.cluster.node.errors import RuntimeFailed

__all__ = ["KeeperGone"]


class KeeperGone(RuntimeFailed):
    """Whatever was asked has not been done; a new keeper is being started."""
