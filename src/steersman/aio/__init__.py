"""What asyncio programs here are made of: clocks, task scopes, backoff and queues.

The lowest layer: it imports nothing of Steersman. Everything that starts a task, waits or retries
goes through it, so that tests can replace time and shutdown never leaves a task behind.
"""

from __future__ import annotations

from steersman.aio.backoff import Backoff
from steersman.aio.clock import Clock, SystemClock
from steersman.aio.first import first_of, wait_for_event, wait_for_tasks
from steersman.aio.queues import BoundedQueue, DelayQueue, QueueClosed, QueueFull
from steersman.aio.scope import Scope

__all__ = [
    "Backoff",
    "BoundedQueue",
    "Clock",
    "DelayQueue",
    "QueueClosed",
    "QueueFull",
    "Scope",
    "SystemClock",
    "first_of",
    "wait_for_event",
    "wait_for_tasks",
]
