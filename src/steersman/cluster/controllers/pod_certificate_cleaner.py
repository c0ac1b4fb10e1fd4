"""The PodCertificateRequest cleaner: deletes PodCertificateRequests 15 minutes after their creation.

By then the kubelet has the certificate or has requested it again.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from steersman.cluster.controllers.expiring import delete_when_over
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.types.certificates_v1 import PodCertificateRequest
from steersman.objects.lifetime import created_at
from steersman.objects.resources import POD_CERTIFICATE_REQUESTS

__all__ = ["add"]

_LIFE: Final = timedelta(minutes=15)


def add(setup: Setup) -> None:
    delete_when_over(setup, "podcertificaterequest-cleaner", POD_CERTIFICATE_REQUESTS, _expires_at)


def _expires_at(request: PodCertificateRequest) -> datetime:
    return created_at(request) + _LIFE
