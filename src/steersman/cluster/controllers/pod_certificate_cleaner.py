"""The PodCertificateRequest cleaner: deletes PodCertificateRequests 15 minutes after their creation.

By then the kubelet has the certificate or has requested it again.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from steersman.cluster.controllers.expiring import delete_when_over
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resources import POD_CERTIFICATE_REQUESTS
from steersman.objects.times import parse_time

__all__ = ["add"]

_LIFE: Final = timedelta(minutes=15)


def add(setup: Setup) -> None:
    delete_when_over(setup, "podcertificaterequest-cleaner", POD_CERTIFICATE_REQUESTS, _expires_at)


def _expires_at(request: dict[str, Any]) -> datetime:
    return parse_time(request["metadata"]["creationTimestamp"]) + _LIFE
