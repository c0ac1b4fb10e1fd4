"""Keys in a cluster's data folder: the CA, the server's certificate, the token keys, the admin's token."""

from __future__ import annotations

import secrets
import ssl
from pathlib import Path

from steersman.cluster.apiserver.assembly import Keys
from steersman.cluster.auth.pki import PkiError, StoredAuthority, write_private
from steersman.cluster.auth.service_accounts import open_signing_key
from steersman.http import server_tls

__all__ = ["admin_token", "open_keys", "serving_context"]

_SERVICE_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


def open_keys(folder: Path, authority: StoredAuthority) -> Keys:
    """The keys of a folder, made there when there are none. Raises PkiError, OSError."""

    def open_front_proxy() -> StoredAuthority:
        front = folder / "front-proxy"
        front.mkdir(mode=0o700, exist_ok=True)
        return StoredAuthority.open(front)

    return Keys(authority, open_signing_key(folder), open_front_proxy)


def serving_context(
    folder: Path, authority: StoredAuthority, host: str, service_address: str
) -> ssl.SSLContext:
    """TLS of the API server, for the names and addresses it is reached at."""
    names = {"localhost", "127.0.0.1", "::1", host, service_address, *_SERVICE_NAMES}
    certificate, key = authority.keep(folder, "apiserver", "kube-apiserver", sorted(names))
    return server_tls(certificate, key, authority.pem)


def admin_token(folder: Path) -> str:
    """The admin's token, made at the first start and kept. Raises PkiError."""
    file = folder / "admin.token"
    if file.exists() and (kept := file.read_text("ascii", "replace").strip()):
        if not kept.isascii() or not kept.isprintable():
            raise PkiError(f"{file} is damaged: it holds no token")
        return kept
    # Letters and digits only: it ends up on command lines, where a leading dash is an option.
    token = secrets.token_hex(32)
    write_private(file, token.encode() + b"\n")
    return token
