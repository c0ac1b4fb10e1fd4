"""A container runtime whose containers are processes of this machine.

Start reading at `engine`, then `plans` (what a container is started as) and `keeper` (the process that runs
it). `assembly` constructs a node with it.
"""

from __future__ import annotations
