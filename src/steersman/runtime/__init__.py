"""What runs controllers: caches filled by watches, work queues, reconcile loops and their manager.

Start reading at `manager` (what runs, in which order), then `controller` (from a change to a reconcile),
`informer` and `cache` (what is known of the cluster), `reflector` (how it is kept up to date).
"""

from __future__ import annotations

from steersman.runtime.cache import Cache
from steersman.runtime.cached import Cached
from steersman.runtime.changes import Change
from steersman.runtime.controller import Controller
from steersman.runtime.errors import ReconcileTimeout, Requeue, RuntimeProblem, TerminalError
from steersman.runtime.events import Recorder
from steersman.runtime.finalizers import add_finalizer, remove_finalizer
from steersman.runtime.informer import Informer
from steersman.runtime.informers import Informers
from steersman.runtime.keys import Key
from steersman.runtime.manager import Manager
from steersman.runtime.metrics import Metrics
from steersman.runtime.predicates import (
    Predicate,
    annotations_changed,
    generation_changed,
    labels_changed,
    resource_version_changed,
)
from steersman.runtime.queue import WorkQueue
from steersman.runtime.requests import Outcome, Request, Result
from steersman.runtime.retry import RetryPolicy
from steersman.runtime.writes import Writes

__all__ = [
    "Cache",
    "Cached",
    "Change",
    "Controller",
    "Informer",
    "Informers",
    "Key",
    "Manager",
    "Metrics",
    "Outcome",
    "Predicate",
    "ReconcileTimeout",
    "Recorder",
    "Request",
    "Requeue",
    "Result",
    "RetryPolicy",
    "RuntimeProblem",
    "TerminalError",
    "WorkQueue",
    "Writes",
    "add_finalizer",
    "annotations_changed",
    "generation_changed",
    "labels_changed",
    "remove_finalizer",
    "resource_version_changed",
]
