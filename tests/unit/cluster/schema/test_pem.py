"""Which text holds a certificate request."""

from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steersman.cluster.schema.pem import certificate_request


def der(name: str = "ann") -> bytes:
    built = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("n")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=False)
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.DER)


def block(data: bytes, kind: str = "CERTIFICATE REQUEST") -> bytes:
    body = base64.encodebytes(data).decode()
    return f"-----BEGIN {kind}-----\n{body}-----END {kind}-----\n".encode()


def read(pem: bytes) -> x509.CertificateSigningRequest:
    return certificate_request(base64.b64encode(pem).decode())


@pytest.mark.parametrize("before", [b"", b"text\n", b"-----BEGIN X-----\n!\n-----END X-----\n"])
def test_the_first_block_is_the_request(before: bytes) -> None:
    request = read(before + block(der()) + block(der("eve")))
    assert request.subject.rfc4514_string() == "CN=ann"


WRONG_TYPE = "PEM block type must be CERTIFICATE REQUEST"


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        pytest.param(b"", WRONG_TYPE, id="nothing"),
        pytest.param(b"rubbish", WRONG_TYPE, id="no block"),
        pytest.param(block(der(), "CERTIFICATE") + block(der()), WRONG_TYPE, id="another block first"),
        pytest.param(b"x" + block(der()), WRONG_TYPE, id="a block begins its line"),
        pytest.param(block(b"\x30\x00"), "asn1: structure error: ", id="no request inside"),
        pytest.param(
            block(der().replace(b"\x55\x1d\x13", b"\x55\x1d\x11")),
            "asn1: structure error: ",
            id="an extension twice",
        ),
        pytest.param(
            block(der().replace(b"\x0c\x03ann", b"\x0c\x03a\xff\xff")),
            "asn1: structure error: ",
            id="a subject that is no text",
        ),
    ],
)
def test_anything_else_is_a_value_error(pem: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}"):
        read(pem)
