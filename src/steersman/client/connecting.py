"""From settings to a client that can be used: which settings, and everything they ask for put together.

Settings come from the kubeconfig that is asked for, else from those that KUBECONFIG names, else from the
pod this runs in, else from ~/.kube/config.
"""

from __future__ import annotations

import ipaddress
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote, urlsplit

from steersman.aio import Clock
from steersman.client.certificates import Certificates, RenewingTransport
from steersman.client.credentials import Anonymous, Credentials, FixedFields, TokenFile, basic, bearer
from steersman.client.errors import ConfigError
from steersman.client.exec_plugin import ExecPlugin
from steersman.client.in_cluster import in_cluster
from steersman.client.kubeconfig import Kubeconfig
from steersman.client.settings import Impersonation, Settings
from steersman.client.transport import Transport
from steersman.http import Client as Http
from steersman.http import Proxy, RawHeaders

__all__ = ["Connected", "connect", "find_settings"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Connected:
    """What a client is made of."""

    transport: Transport
    credentials: Credentials
    host: str


def find_settings(
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Raises `ConfigError` if there is nothing to go by, or it cannot be used."""
    if kubeconfig is not None:
        return Kubeconfig.read([Path(kubeconfig).expanduser()]).select(context)
    if named := [Path(name) for name in environ.get("KUBECONFIG", "").split(os.pathsep) if name]:
        return Kubeconfig.read(named).select(context)
    if context is None and (settings := in_cluster(environ)) is not None:
        return settings
    return Kubeconfig.read([Path.home() / ".kube" / "config"]).select(context)


def connect(
    settings: Settings, user_agent: str | None, clock: Clock, environ: Mapping[str, str] = os.environ
) -> Connected:
    """Nothing is sent yet; files are read, and what is wrong with them is said now."""
    certificates = Certificates(settings, clock)
    if settings.insecure:
        _log.warning("the certificate of %s is not verified (insecure-skip-tls-verify)", settings.server)
    address = urlsplit(settings.server)
    fields = [(b"User-Agent", (user_agent or _own_name()).encode("latin-1", "replace"))]
    fields += _impersonating(settings.user.impersonate)
    if not settings.compressed:
        fields.append((b"Accept-Encoding", b"identity"))
    http = Http(settings.server, ssl=certificates.context, headers=fields, proxy=_proxy(settings, environ))
    credentials = _credentials(settings, clock, certificates)
    return Connected(RenewingTransport(http, certificates), credentials, address.netloc)


def _own_name() -> str:
    return f"steersman/{version('steersman')}"


def _credentials(settings: Settings, clock: Clock, certificates: Certificates) -> Credentials:
    user = settings.user
    if user.token_file is not None:
        return TokenFile(user.token_file, clock, user.token)
    if user.token:
        return FixedFields(bearer(user.token))
    if user.username or user.password:
        return FixedFields(basic(user.username, user.password))
    if user.exec is not None:
        return ExecPlugin(settings, clock, certificates.use)
    return Anonymous()


def _impersonating(whom: Impersonation) -> RawHeaders:
    fields = [("User", whom.user)] if whom.user else []
    fields += [("Uid", whom.uid)] if whom.uid else []
    fields += [("Group", group) for group in whom.groups]
    # Names of extra values are arbitrary text; header names are not.
    fields += [
        (f"Extra-{quote(name, safe='!#$&*+-.^_`|~')}", value)
        for name, values in whom.extra.items()
        for value in values
    ]
    return [(f"Impersonate-{name}".encode(), value.encode()) for name, value in fields]


def _proxy(settings: Settings, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy that the settings name, else the environment's, as other programs understand it."""
    address = urlsplit(settings.server)
    url, origin = settings.proxy_url, f"{settings.source}: proxy-url"
    if not url:
        name = f"{address.scheme}_proxy"
        url, origin = environ.get(name.upper()) or environ.get(name) or "", name.upper()
        exempt = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
        if not url or _is_exempt(address.hostname or "", exempt):
            return None
        if "://" not in url:
            url = f"http://{url}"
    try:
        return Proxy.parse(url)
    except ValueError as error:
        raise ConfigError(f"{origin}: {error}") from None


def _is_exempt(host: str, exempt: str) -> bool:
    """Whether NO_PROXY holds for a host: names with all below them, addresses and networks, or `*`."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        number = None
    if host == "localhost" or (number is not None and number.is_loopback):
        return True
    for entry in (part.strip().lower() for part in exempt.split(",")):
        if entry == "*" or (entry and (host == entry or host.endswith("." + entry.lstrip("*.")))):
            return True
        if number is not None and "/" in entry:
            try:
                if number in ipaddress.ip_network(entry, strict=False):
                    return True
            except ValueError:
                continue
    return False
