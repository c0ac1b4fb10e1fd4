"""How long requests for certificates are kept."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from steersman.cluster.controllers.certificate_cleaner import expires_at
from steersman.objects.times import format_time

MADE = datetime(2026, 1, 1, tzinfo=UTC)
DECIDED = MADE + timedelta(hours=2)


def certificate(end: datetime) -> str:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, MADE, end)
    signed = builder.sign(key, hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


LONG, SHORT = certificate(DECIDED + timedelta(days=9)), certificate(DECIDED + timedelta(minutes=10))


@pytest.mark.parametrize(
    ("kind", "signed", "expected"),
    [
        pytest.param("", "", MADE + timedelta(days=1), id="pending"),
        pytest.param("Approved", "", DECIDED + timedelta(days=1), id="not signed"),
        pytest.param("Approved", LONG, DECIDED + timedelta(hours=1), id="signed"),
        pytest.param("Approved", SHORT, DECIDED + timedelta(minutes=10), id="expired"),
        pytest.param("Approved", "bm9uZQ==", DECIDED + timedelta(hours=1), id="no certificate"),
        pytest.param("Denied", "", DECIDED + timedelta(hours=1), id="denied"),
        pytest.param("Failed", "", DECIDED + timedelta(hours=1), id="failed"),
        pytest.param("Other", "", None, id="something else"),
    ],
)
def test_expiry(kind: str, signed: str, expected: datetime | None) -> None:
    conditions = [{"type": kind, "status": "True", "lastUpdateTime": format_time(DECIDED)}] if kind else []
    request = {
        "metadata": {"creationTimestamp": format_time(MADE)},
        "status": {"conditions": conditions, **({"certificate": signed} if signed else {})},
    }
    assert expires_at(request) == expected
