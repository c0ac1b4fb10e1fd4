"""Authorities: kept as PEM and taken up again, and certificates that live as long as asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from steersman.http.certificates import Authority

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_an_authority_that_was_kept_issues_as_before() -> None:
    made = Authority.make("ours", life=timedelta(days=10), now=NOW)
    again = Authority.from_pem(made.pem, made.key)
    assert again.certificate.not_valid_after_utc == NOW + timedelta(days=10)
    pair = again.issue(
        "web", names=["web.shop.svc", "10.0.0.1"], server=True, life=timedelta(days=3), now=NOW
    )
    leaf = x509.load_pem_x509_certificate(pair.certificate)
    leaf.verify_directly_issued_by(made.certificate)
    assert leaf.not_valid_after_utc == NOW + timedelta(days=3)
    assert leaf.not_valid_before_utc < NOW


def test_keys_that_do_not_belong_are_refused() -> None:
    one, other = Authority.make(), Authority.make()
    locked = load_pem_private_key(one.key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")
    )
    for key, problem in (
        (other.key, "does not belong"),
        (locked, "encrypted"),
        (b"nonsense", "."),
    ):
        with pytest.raises(ValueError, match=problem):
            Authority.from_pem(one.pem, key)
