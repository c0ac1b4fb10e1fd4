"""Which credentials make whom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.cluster.auth.authentication import (
    Authentication,
    CertificateAuthenticator,
    InvalidCredentials,
    StaticTokens,
)
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.users import ANONYMOUS, User

ANN = User("ann", groups=("g", "system:authenticated"))
BOB = User("bob")
AUTHORITY = StoredAuthority.make("a")
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


def by_header(header: str | None) -> User:
    chain = Authentication(None, [StaticTokens({"ann-token": ANN}), StaticTokens({"bob-token": BOB})])
    return chain.by_header(header)


def to_der(pem: bytes) -> bytes:
    return x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)


def issue(
    *, start: int = -1, end: int = 1, usage: x509.ObjectIdentifier | None = CLIENT, name: str = "ann"
) -> bytes:
    """A certificate of AUTHORITY, valid from `start` to `end` (days from now)."""
    now = datetime.now(UTC)
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else []
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "g"), *subject]))
        .issuer_name(AUTHORITY.certificate.subject)
        .public_key(ec.generate_private_key(ec.SECP256R1()).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=start))
        .not_valid_after(now + timedelta(days=end))
    )
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return builder.sign(AUTHORITY._key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def by_certificate(der: bytes) -> User | None:
    return Authentication(CertificateAuthenticator(AUTHORITY.certificate), []).by_certificate(der)


@pytest.mark.parametrize(
    ("header", "user"),
    [
        ("Bearer ann-token", ANN),
        ("bearer ann-token", ANN),
        ("BEARER bob-token", BOB),
        ("  Bearer ann-token  ", ANN),
        ("Bearer ann-token and more", ANN),
        (None, ANONYMOUS),
        ("", ANONYMOUS),
        ("Bearer", ANONYMOUS),
        ("Bearer ", ANONYMOUS),
        ("Bearer  ann-token", ANONYMOUS),
        ("ann-token", ANONYMOUS),
        ("Basic YW5uOmFubg==", ANONYMOUS),
        ("Bearer:ann-token", ANONYMOUS),
    ],
    ids=repr,
)
def test_the_user_of_a_header(header: str | None, user: User) -> None:
    assert by_header(header) == user


@pytest.mark.parametrize("token", ["wrong", "ann-toke", "ann-tokens", "ANN-TOKEN", "\xe9\u4e2d"])
def test_an_unknown_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidCredentials):
        by_header(f"Bearer {token}")


def test_a_refused_token_stays_refused() -> None:
    tokens = StaticTokens({"ann-token": ANN})
    assert tokens.authenticate("ann-token") == ANN
    for _ in range(3):
        assert tokens.authenticate("guess") is None
    assert tokens.authenticate("ann-token") == ANN
    assert "guess" not in repr(vars(tokens))


class Passing:
    """Tokens that are good until they are taken back."""

    def __init__(self) -> None:
        self.users = {"bob-token": BOB}

    def authenticate(self, token: str) -> User | None:
        return self.users.get(token)


def test_only_static_tokens_last() -> None:
    passing = Passing()
    chain = Authentication(None, [StaticTokens({"ann-token": ANN}), passing])
    assert chain.recognize("Bearer ann-token") == (ANN, True)
    assert chain.recognize("Bearer bob-token") == (BOB, False)
    assert chain.recognize(None) == (ANONYMOUS, False)
    passing.users.clear()
    with pytest.raises(InvalidCredentials):
        chain.recognize("Bearer bob-token")


def test_what_was_accepted_is_not_kept() -> None:
    chain = Authentication(None, [StaticTokens({"ann-token": ANN})])
    assert chain.by_header("Bearer ann-token") == ANN
    assert "ann-token" not in repr(vars(chain))


def test_a_refusal_and_the_tokens_tell_no_token() -> None:
    tokens = StaticTokens({"ann-token": ANN})
    with pytest.raises(InvalidCredentials) as refused:
        Authentication(None, [tokens]).by_header("Bearer guess")
    assert "guess" not in str(refused.value) + repr(refused.value)
    assert "ann-token" not in repr(vars(tokens))


def test_a_certificates_name_and_groups() -> None:
    pair = AUTHORITY.issue("ann", organizations=["dev", "ops"])
    user = by_certificate(to_der(pair.certificate))
    assert user == User("ann", groups=("dev", "ops", "system:authenticated"))


def test_a_hand_made_certificate_of_our_authority_is_good() -> None:
    assert by_certificate(issue()) == ANN


@pytest.mark.parametrize(
    "der",
    [
        pytest.param(issue(start=-2, end=-1), id="expired"),
        pytest.param(issue(start=1, end=2), id="not yet valid"),
        pytest.param(issue(usage=SERVER), id="a server's"),
        pytest.param(issue(usage=None), id="no usage"),
        pytest.param(issue(name=""), id="no common name"),
        pytest.param(
            to_der(StoredAuthority.make("a").issue("ann").certificate), id="other authority, same name"
        ),
        pytest.param(to_der(StoredAuthority.make("b").issue("ann").certificate), id="other authority"),
        pytest.param(to_der(AUTHORITY.pem), id="the authority itself"),
        pytest.param(b"\x30\x03\x02\x01\x01", id="not a certificate"),
        pytest.param(issue()[:-1] + b"\x00", id="broken signature"),
    ],
)
def test_other_certificates_are_nobodys(der: bytes) -> None:
    assert by_certificate(der) is None


def test_without_an_authority_no_certificate_counts() -> None:
    assert Authentication(None, []).by_certificate(issue()) is None
