"""Credentials from a program: client.authentication.k8s.io/v1 and v1beta1.

The program is run when credentials are first needed, when they have expired and when the API no longer
accepts them; it may give a token, a client certificate, or both. Several requests at once wait for one run.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from steersman.aio import Clock
from steersman.client.credentials import bearer
from steersman.client.errors import CredentialsError
from steersman.client.settings import Settings
from steersman.http import RawHeaders

__all__ = ["ExecPlugin"]

_INFO = "KUBERNETES_EXEC_INFO"


class ExecPlugin:
    """The credentials of one program. `use_certificate` gets each client certificate that it gives."""

    def __init__(
        self, settings: Settings, clock: Clock, use_certificate: Callable[[bytes, bytes], None]
    ) -> None:
        assert settings.user.exec is not None
        self._plugin = settings.user.exec
        self._settings = settings
        self._clock = clock
        self._use_certificate = use_certificate
        self._fields: RawHeaders | None = None
        self._expires: float | None = None
        self._runs = 0
        self._lock = asyncio.Lock()

    def current(self) -> RawHeaders | None:
        if self._expires is not None and self._clock.wall() >= self._expires:
            return None
        return self._fields

    async def renew(self, *, rejected: bool = False) -> bool:
        runs = self._runs
        async with self._lock:
            # Whoever waited for another's run has what it needs.
            if self._runs == runs and (rejected or self.current() is None):
                self._accept(await self._run())
                self._runs += 1
        return True

    async def _run(self) -> bytes:
        """What the program prints. Its complaints go where this process's own go."""
        plugin = self._plugin
        interactive = self._interactive()
        environment = {**os.environ, **plugin.env, _INFO: self._info(interactive)}
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.args,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            hint = f"; {plugin.install_hint}" if plugin.install_hint else ""
            raise CredentialsError(
                f"exec: executable {plugin.command} cannot be run: {error.strerror}{hint}"
            ) from error
        try:
            output, _ = await process.communicate()
        except BaseException:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
        if process.returncode:
            raise CredentialsError(
                f"exec: executable {plugin.command} failed with exit code {process.returncode}"
            )
        return output

    def _interactive(self) -> bool:
        mode = self._plugin.interactive_mode
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not terminal:
            raise CredentialsError(
                f"exec: executable {self._plugin.command} needs a terminal, and there is none"
            )
        return mode != "Never" and terminal

    def _info(self, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.provides_cluster_info:
            spec["cluster"] = self._cluster()
        info = {"kind": "ExecCredential", "apiVersion": self._plugin.api_version, "spec": spec}
        return orjson.dumps(info).decode()

    def _cluster(self) -> Mapping[str, Any]:
        settings = self._settings
        ca = settings.ca.read_bytes() if isinstance(settings.ca, Path) else settings.ca
        cluster = {
            "server": settings.server,
            "tls-server-name": settings.server_name,
            "insecure-skip-tls-verify": settings.insecure,
            "certificate-authority-data": base64.b64encode(ca).decode() if ca else "",
            "proxy-url": settings.proxy_url,
            "disable-compression": not settings.compressed,
            "config": self._plugin.config,
        }
        return {name: value for name, value in cluster.items() if value}

    def _accept(self, output: bytes) -> None:
        command = self._plugin.command
        try:
            answer = orjson.loads(output)
        except orjson.JSONDecodeError:
            raise CredentialsError(f"exec: executable {command} printed no JSON") from None
        status = answer.get("status") if isinstance(answer, dict) else None
        if not isinstance(status, dict):
            raise CredentialsError(f"exec: executable {command} gave no ExecCredential with a status")
        if answer.get("apiVersion") != self._plugin.api_version:
            raise CredentialsError(
                f"exec: executable {command} is configured to use API version {self._plugin.api_version}, "
                f"it returned version {answer.get('apiVersion')}"
            )
        token = status.get("token") or ""
        certificate, key = status.get("clientCertificateData") or "", status.get("clientKeyData") or ""
        if not token and not certificate and not key:
            raise CredentialsError(f"exec: executable {command} gave neither a token nor a certificate")
        if bool(certificate) != bool(key):
            raise CredentialsError(f"exec: executable {command} gave only a certificate or a key, not both")
        self._expires = self._time(status.get("expirationTimestamp"))
        if certificate:
            self._use_certificate(certificate.encode(), key.encode())
        try:
            self._fields = bearer(token) if token else ()
        except ValueError as error:
            raise CredentialsError(f"exec: executable {command}: {error}") from None

    def _time(self, text: str | None) -> float | None:
        if text is None:
            return None
        try:
            return datetime.fromisoformat(text).timestamp()
        except (TypeError, ValueError):
            command = self._plugin.command
            raise CredentialsError(
                f"exec: executable {command} gave an invalid expirationTimestamp"
            ) from None
