"""TLS contexts for both ends.

The server asks for a client certificate and takes any: whether it is good is for the application to
say, with a 401 that clients understand, not for the handshake, which they see as a broken connection.
Python's ssl can only ask *and* verify, so the verify callback is set through ctypes.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import ssl
import sys
from collections.abc import Iterator

__all__ = ["ClientContext", "PemSource", "client_tls", "server_tls"]

_log = logging.getLogger(__name__)

PemSource = bytes | str | os.PathLike[str]
"""PEM text as bytes, or the file it is in."""

_VERIFY_PEER = 1
_VerifyCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


# Kept for as long as the process lives: OpenSSL calls it in every handshake.
_accept_any = _VerifyCallback(lambda ok, store: 1)


class ClientContext(ssl.SSLContext):
    """An SSLContext that knows which name the server's certificate must have (None: the URL's host)."""

    server_name: str | None = None


def server_tls(certfile: PemSource, keyfile: PemSource, client_cas: bytes | None = None) -> ssl.SSLContext:
    """The server's side: TLS 1.2 or later, HTTP/1.1 only, session tickets on.

    With `client_cas` (PEM), clients are asked for a certificate and told the names of these CAs; one
    of another CA, or none, is accepted too and is for the application to judge.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    _load_chain(context, certfile, keyfile)
    if client_cas is not None:
        context.load_verify_locations(cadata=client_cas.decode("ascii"))
        context.verify_mode = ssl.CERT_OPTIONAL
        if not _accept_unverified(context):
            _log.warning("this Python's ssl is out of reach: unknown client CAs will fail the handshake")
    return context


def client_tls(
    *,
    ca: PemSource | None = None,
    cert: PemSource | None = None,
    key: PemSource | None = None,
    insecure: bool = False,
    server_name: str | None = None,
) -> ClientContext:
    """The client's side, from what a kubeconfig has. Without `ca` the system's CAs are trusted."""
    context = ClientContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.server_name = server_name
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca is None:
        context.load_default_certs()
    else:
        _trust(context, ca)
    if cert is not None:
        _load_chain(context, cert, key if key is not None else cert)
    return context


def _trust(context: ssl.SSLContext, ca: PemSource) -> None:
    """Trust these certificates, and those they vouch for. One of no authority counts too, as with Go: a
    server may have made its certificate itself."""
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if isinstance(ca, bytes):
        context.load_verify_locations(cadata=ca.decode("ascii"))
    else:
        context.load_verify_locations(cafile=ca)


def _load_chain(context: ssl.SSLContext, cert: PemSource, key: PemSource) -> None:
    with _as_file(cert) as certfile, _as_file(key) as keyfile:
        context.load_cert_chain(certfile, keyfile, password=_refuse_password)


def _refuse_password() -> str:
    # Without this OpenSSL would ask on the terminal.
    raise ValueError("the private key is encrypted")


@contextlib.contextmanager
def _as_file(source: PemSource) -> Iterator[str]:
    """OpenSSL loads chains from files only; PEM given as bytes goes through one that only we can see."""
    if not isinstance(source, bytes):
        yield os.fspath(source)
        return
    # In memory: a hardened container has no place for files, and a key on a disk may outlive its process.
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(source)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"


def _accept_unverified(context: ssl.SSLContext) -> bool:
    """Replace the verification of client certificates by acceptance; False if this Python's ssl is built
    so that it cannot be reached, in which case certificates of unknown CAs still fail the handshake."""
    if sys.implementation.name != "cpython":
        return False
    try:
        import _ssl

        library = ctypes.CDLL(_ssl.__file__)
        set_verify, get_mode = library.SSL_CTX_set_verify, library.SSL_CTX_get_verify_mode
        get_options = library.SSL_CTX_get_options
        add_ca, d2i, free = library.SSL_CTX_add_client_CA, library.d2i_X509, library.X509_free
    except (AttributeError, OSError, ImportError):
        return False
    get_options.argtypes, get_options.restype = [ctypes.c_void_p], ctypes.c_uint64
    get_mode.argtypes, get_mode.restype = [ctypes.c_void_p], ctypes.c_int
    set_verify.argtypes, set_verify.restype = [ctypes.c_void_p, ctypes.c_int, _VerifyCallback], None
    # The object's first field after the header is its SSL_CTX pointer.
    pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    # Only a pointer that answers as this context does is written to.
    if get_mode(pointer) != _VERIFY_PEER or get_options(pointer) & 0xFFFFFFFF != context.options & 0xFFFFFFFF:
        return False
    set_verify(pointer, _VERIFY_PEER, _accept_any)
    if get_mode(pointer) != _VERIFY_PEER:
        return False
    # Go clients send a certificate only if its issuer is among the names the server sends.
    d2i.argtypes, d2i.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long], ctypes.c_void_p
    add_ca.argtypes, free.argtypes = [ctypes.c_void_p, ctypes.c_void_p], [ctypes.c_void_p]
    for der in context.get_ca_certs(binary_form=True):
        start = ctypes.c_char_p(der)
        certificate = d2i(None, ctypes.byref(start), len(der))
        if certificate:
            add_ca(pointer, certificate)
            free(certificate)
    return True
