"""API priority and fairness: which requests wait, and which get 429, when the server is busy.

Theory of operation. A request is *classified* (`configuration`): the first FlowSchema that matches names its
priority level, and the schema's distinguisher (user or namespace) its *flow*. The server's seats are divided
between the levels by their shares; part of them is lent (`seats`). A request takes seats while it is in
flight: one, or more for a long list (`estimate`). When there are none it waits in its level, where flows are
served fairly (`scheduler`), or it is answered 429.

This server is one asyncio process, which changes where requests pile up:

* Writes wait for the store's commit. They hold seats meanwhile; seats limit them as in Kubernetes.
* Reads are answered as soon as they are looked at and never hold a seat when the next request comes. What a
  reader can take from others is the loop's time. So every flow has an account of handler time that drains
  steadily: a flow that stays below a quarter of the loop, or is alone, never notices. One that is over its
  allowance while others are there is *hot*: its requests go through its level's queues even if seats are
  free, and are released in turns of about 2 ms per pass of the loop, in fair order. A light flow's request
  is looked at on the next pass, ahead of whatever a hot flow has piled up; nothing is left idle.

`Fairness` is the shell with clock, futures and timers; `Scheduler` decides, and has none of them.
"""

from __future__ import annotations

from steersman.cluster.apiserver.fairness.admission import DEFAULT_SEATS, Fairness, RequestDigest
from steersman.cluster.apiserver.fairness.estimate import stored_count
from steersman.cluster.apiserver.fairness.scheduler import Ticket

__all__ = [
    "DEFAULT_SEATS",
    "Fairness",
    "RequestDigest",
    "Ticket",
    "stored_count",
]
