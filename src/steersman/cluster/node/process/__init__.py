"""The process engine: containers that are processes of this machine, without a container runtime.

Start reading at `engine`, then `plans` (what a container becomes) and `keeper` (who runs it). `assembly`
makes a node of it.
"""

from __future__ import annotations
