"""Active-active replicas: every object is worked on by one of several members, each with a Lease of its own.

Start reading at `core` (why an object is never worked on by two), then `views` (who owns what) and `shard`
(the requests and the hand-over of running work).
"""

from __future__ import annotations

from steersman.runtime.sharding.core import ShardSettings
from steersman.runtime.sharding.shard import Shard, Worker

__all__ = ["Shard", "ShardSettings", "Worker"]
