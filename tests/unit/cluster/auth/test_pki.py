"""The authority's life in its folder, and when a server certificate is issued anew."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from steersman.cluster.auth import pki
from steersman.cluster.auth.pki import PkiError, StoredAuthority, write_private

NAMES = ["localhost", "127.0.0.1", "::1"]


def certificate(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_an_authority_is_made_once_and_kept(tmp_path: Path) -> None:
    made = StoredAuthority.open(tmp_path)
    again = StoredAuthority.open(tmp_path)
    assert again.pem == made.pem
    leaf = x509.load_pem_x509_certificate(again.issue("a").certificate)
    leaf.verify_directly_issued_by(made.certificate)


def test_private_files_are_the_owners_alone(tmp_path: Path) -> None:
    authority = StoredAuthority.open(tmp_path)
    files = [tmp_path / "ca.key", tmp_path / "ca.crt", *authority.keep(tmp_path, "server", "s", NAMES)]
    assert {mode(file) for file in files} == {0o600}
    assert sorted(tmp_path.iterdir()) == sorted(files), "no half-written file stays behind"


def test_a_private_file_replaces_an_open_one(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"old")
    file.chmod(0o644)
    write_private(file, b"new")
    assert (file.read_bytes(), mode(file)) == (b"new", 0o600)


def test_a_key_of_another_authority_is_refused(tmp_path: Path) -> None:
    StoredAuthority.open(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    StoredAuthority.open(other)
    (other / "ca.key").replace(tmp_path / "ca.key")
    with pytest.raises(PkiError, match=r"ca\.key does not belong to .*ca\.crt"):
        StoredAuthority.open(tmp_path)


@pytest.mark.parametrize("name", ["ca.crt", "ca.key"])
def test_damaged_files_are_refused(tmp_path: Path, name: str) -> None:
    StoredAuthority.open(tmp_path)
    (tmp_path / name).write_bytes(b"-----BEGIN NOTHING-----\n")
    with pytest.raises(PkiError):
        StoredAuthority.open(tmp_path)


def test_a_lost_key_is_not_replaced_in_silence(tmp_path: Path) -> None:
    StoredAuthority.open(tmp_path)
    (tmp_path / "ca.key").unlink()
    with pytest.raises(PkiError, match=r"ca\.key is missing, but .*ca\.crt is there"):
        StoredAuthority.open(tmp_path)


def test_an_interrupted_first_start_is_started_over(tmp_path: Path) -> None:
    StoredAuthority.open(tmp_path)
    (tmp_path / "ca.crt").unlink()
    assert StoredAuthority.open(tmp_path).pem == StoredAuthority.open(tmp_path).pem


def test_an_authority_may_sign_and_a_leaf_may_not() -> None:
    authority = StoredAuthority.make("some-ca")
    basic = authority.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert basic.ca
    leaf = x509.load_pem_x509_certificate(authority.issue("a").certificate)
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert leaf.issuer.rfc4514_string() == "CN=some-ca"


def test_addresses_and_names_are_told_apart() -> None:
    pair = StoredAuthority.make().issue("server", names=NAMES, server=True)
    leaf = x509.load_pem_x509_certificate(pair.certificate)
    held = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert held.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(each) for each in held.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_a_server_certificate_is_kept_while_it_is_good(tmp_path: Path) -> None:
    authority = StoredAuthority.open(tmp_path)
    first = authority.keep(tmp_path, "server", "s", NAMES)[0].read_bytes()
    assert authority.keep(tmp_path, "server", "s", NAMES)[0].read_bytes() == first
    assert authority.keep(tmp_path, "server", "s", NAMES[:1])[0].read_bytes() == first, "fewer names will do"


def test_a_server_certificate_follows_its_names(tmp_path: Path) -> None:
    authority = StoredAuthority.open(tmp_path)
    authority.keep(tmp_path, "server", "s", NAMES)
    file, key = authority.keep(tmp_path, "server", "s", [*NAMES, "10.0.0.1"])
    held = certificate(file).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "10.0.0.1" in [str(each) for each in held.get_values_for_type(x509.IPAddress)]
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    assert private.public_key() == certificate(file).public_key()


def test_a_server_certificate_follows_its_authority(tmp_path: Path) -> None:
    StoredAuthority.make().keep(tmp_path, "server", "s", NAMES)
    other = StoredAuthority.make()
    file, _ = other.keep(tmp_path, "server", "s", NAMES)
    certificate(file).verify_directly_issued_by(other.certificate)


@pytest.mark.parametrize("damage", ["server.crt", "server.key"])
def test_a_missing_half_is_made_again(tmp_path: Path, damage: str) -> None:
    authority = StoredAuthority.make()
    authority.keep(tmp_path, "server", "s", NAMES)
    (tmp_path / damage).unlink()
    file, key = authority.keep(tmp_path, "server", "s", NAMES)
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    assert private.public_key() == certificate(file).public_key()


def test_a_damaged_server_certificate_is_made_again(tmp_path: Path) -> None:
    authority = StoredAuthority.make()
    file, _ = authority.keep(tmp_path, "server", "s", NAMES)
    file.write_bytes(b"nonsense")
    certificate(authority.keep(tmp_path, "server", "s", NAMES)[0])


def test_a_server_certificate_is_renewed_before_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = StoredAuthority.make()
    with monkeypatch.context() as short:
        short.setattr(pki, "_LEAF_LIFE", timedelta(days=29))
        file, _ = authority.keep(tmp_path, "server", "s", NAMES)
    assert certificate(file).not_valid_after_utc < datetime.now(UTC) + timedelta(days=30)
    authority.keep(tmp_path, "server", "s", NAMES)
    assert certificate(file).not_valid_after_utc > datetime.now(UTC) + timedelta(days=300)
