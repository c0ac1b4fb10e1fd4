"""Highlander over HTTP: status, workloads, pods, history, events, actions, metrics and the dashboard.

Start reading at `server` (what is asked and who answers it), then `routes` (every path), `views` (what the
answers look like) and `events` (the live stream).
"""

from __future__ import annotations

from steersman.highlander.api.access import Access
from steersman.highlander.api.server import Api, LogReader, logs_of

__all__ = ["Access", "Api", "LogReader", "logs_of"]
