"""Webhooks of operators: the API asks before it stores, and objects are converted between versions.

service        certificates, server and registration, looked after       start here
hook           one function and which writes it is asked about
request        what such a function is given
admission      AdmissionReview: question and answer
conversion     ConversionReview
server, tls    where the API asks; certificates change while connections are open
certificates   which certificates come next (pure); `keeping` is where they are
registration   what the API is told
migration      objects stored in old versions, written again
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.lazy import lazy_names
from steersman.webhooks.errors import Denied, NotMigrated, WebhookError
from steersman.webhooks.hook import Hook, HookKeywords, HookOptions
from steersman.webhooks.migration import migrate_stored_versions
from steersman.webhooks.registration import Reach, Registration, uninstall
from steersman.webhooks.request import AdmissionRequest, UserInfo
from steersman.webhooks.settings import WebhookSettings, default_names

if TYPE_CHECKING:
    from steersman.webhooks.service import WebhookService

__all__ = [
    "AdmissionRequest",
    "Denied",
    "Hook",
    "HookKeywords",
    "HookOptions",
    "NotMigrated",
    "Reach",
    "Registration",
    "UserInfo",
    "WebhookError",
    "WebhookService",
    "WebhookSettings",
    "default_names",
    "migrate_stored_versions",
    "uninstall",
]


if not TYPE_CHECKING:
    # The service is loaded when there is one to run: what makes certificates takes time to load.
    __getattr__ = lazy_names(__name__, {"service": "WebhookService"})
