"""The CSR cleaner controller: deletes CertificateSigningRequests some time after they were decided or signed.

| a request                 | is deleted                                                      |
|---------------------------|-----------------------------------------------------------------|
| not approved or denied    | a day after it was made                                         |
| approved, not signed      | a day after the approval                                        |
| approved and signed       | an hour after the approval, or when the certificate runs out    |
| denied or failed          | an hour after that                                              |
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from steersman.cluster.controllers.expiring import delete_when_over
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.types.certificates_v1 import CertificateSigningRequest
from steersman.objects.resources import CERTIFICATE_SIGNING_REQUESTS
from steersman.objects.times import parse_time

__all__ = ["add", "expires_at"]


_DECIDED: Final = timedelta(hours=1)
_PENDING: Final = timedelta(days=1)


def expires_at(request: CertificateSigningRequest) -> datetime | None:
    """When nobody needs a request any more; None if that cannot be told."""
    status = request.get("status") or {}
    conditions = status.get("conditions") or ()
    if not conditions:
        return _after(request["metadata"].get("creationTimestamp"), _PENDING)
    certificate = status.get("certificate")
    ends: list[datetime | None] = []
    for condition in conditions:
        approved = condition["type"] == "Approved"
        if approved and certificate:
            ends.append(_end_of(certificate))
        if approved or condition["type"] in ("Denied", "Failed"):
            waits = _PENDING if approved and not certificate else _DECIDED
            ends.append(_after(condition.get("lastUpdateTime"), waits))
    return min((end for end in ends if end is not None), default=None)


def _after(moment: str | None, wait: timedelta) -> datetime | None:
    return parse_time(moment) + wait if moment else None


def _end_of(certificate: str) -> datetime | None:
    try:
        return x509.load_pem_x509_certificate(base64.b64decode(certificate)).not_valid_after_utc
    except ValueError:
        return None


def add(setup: Setup) -> None:
    delete_when_over(setup, "certificatesigningrequest-cleaner", CERTIFICATE_SIGNING_REQUESTS, expires_at)
