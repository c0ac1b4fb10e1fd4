"""The X-Remote-* headers that name the user of a request to a backend, and the request-header CA it trusts.

The certificate is of an authority that signs nothing else (the request-header CA). Backends find it in the
ConfigMap `extension-apiserver-authentication` of kube-system.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from steersman.cluster.auth.pki import KeyPair, StoredAuthority
from steersman.cluster.auth.users import User

__all__ = ["FRONT_PROXY", "authentication_config_map", "front_proxy_pair", "identity_headers", "is_identity"]

#: The name in the certificate.
FRONT_PROXY: Final = "front-proxy-client"
_USER, _UID, _GROUP, _EXTRA = b"X-Remote-User", b"X-Remote-Uid", b"X-Remote-Group", b"X-Remote-Extra-"
_FORGEABLE: Final = tuple(name.lower() for name in (_USER, _UID, _GROUP))
#: Characters that may stand in a header's name (RFC 7230), but `%`, which escapes the others.
_TOKEN: Final = frozenset(b"!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


def front_proxy_pair(authority: StoredAuthority) -> KeyPair:
    """The client certificate that requests to backends are made with."""
    return authority.issue(FRONT_PROXY)


def is_identity(name: bytes) -> bool:
    """Whether a header (lower case) claims an identity; what a client sends of these is dropped."""
    return name in _FORGEABLE or name.startswith(_EXTRA.lower())


def identity_headers(user: User) -> Iterator[tuple[bytes, bytes]]:
    yield _USER, user.name.encode()
    if user.uid:
        yield _UID, user.uid.encode()
    for group in user.groups:
        yield _GROUP, group.encode()
    for key, values in user.extra.items():
        name = _EXTRA + _escaped(key)
        for value in values:
            yield name, value.encode()


def _escaped(key: str) -> bytes:
    return b"".join(bytes((byte,)) if byte in _TOKEN else b"%%%02X" % byte for byte in key.lower().encode())


def authentication_config_map(authority: StoredAuthority, client_ca: bytes) -> dict[str, Any]:
    """What backends need to know to believe the headers, and to know clients that come directly."""
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {
            "client-ca-file": client_ca.decode(),
            "requestheader-allowed-names": f'["{FRONT_PROXY}"]',
            "requestheader-client-ca-file": authority.pem.decode(),
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-uid-headers": '["X-Remote-Uid"]',
            "requestheader-username-headers": '["X-Remote-User"]',
        },
    }
