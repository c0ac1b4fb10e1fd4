"""The operator framework as its users see it: `Operator`, `Context`, `Action`.

    from steersman import Action, Context, Operator

Start reading at `operator` (how one is declared), then `context` (what a reconcile can do), `children`
(writes that change something, or are not made) and `assembly` (how it runs).
"""

from __future__ import annotations

from steersman.operator.action import Action
from steersman.operator.assembly import Settings, assemble, run, serve
from steersman.operator.context import Context
from steersman.operator.errors import OperatorError
from steersman.operator.fencing import fencing_policy
from steersman.operator.operator import Chain, Handler, Operator
from steersman.operator.sharding import Sharding
from steersman.operator.status import NewCondition
from steersman.operator.webhooks import uninstall_webhooks
from steersman.runtime import Requeue, TerminalError
from steersman.webhooks import AdmissionRequest, Denied, WebhookSettings

__all__ = [
    "Action",
    "AdmissionRequest",
    "Chain",
    "Context",
    "Denied",
    "Handler",
    "NewCondition",
    "Operator",
    "OperatorError",
    "Requeue",
    "Settings",
    "Sharding",
    "TerminalError",
    "WebhookSettings",
    "assemble",
    "fencing_policy",
    "run",
    "serve",
    "uninstall_webhooks",
]
