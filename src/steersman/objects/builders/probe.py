"""Probe and Hook: what the kubelet does in or to a container to learn its health or mark its life."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, get_args

from steersman.objects.builders.part import Part
from steersman.objects.kinds.enums import URIScheme
from steersman.objects.names import is_http_header_name

__all__ = ["Hook", "Probe"]

_SCHEMES = get_args(URIScheme)


class _Action(Part):
    """One way of asking a container: an HTTP request, a connection or a command."""

    __slots__ = ()

    @classmethod
    def http(
        cls,
        path: str,
        port: int | str,
        *,
        scheme: URIScheme = "HTTP",
        host: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """GET this path; the port is a number or the name of one of the container's ports."""
        made = cls()
        action: dict[str, Any] = {
            "path": made._text("httpGet.path", path),
            "port": made._port_or_name("httpGet.port", port),
        }
        if made._choice("httpGet.scheme", scheme, _SCHEMES) != "HTTP":
            action["scheme"] = scheme
        if host is not None:
            action["host"] = made._text("httpGet.host", host)
        if headers:
            made._texts("httpGet.httpHeaders", headers.values())
            action["httpHeaders"] = [
                {"name": made._name("httpGet.httpHeaders", name, is_http_header_name), "value": value}
                for name, value in headers.items()
            ]
        return made._put("httpGet", action)

    @classmethod
    def tcp(cls, port: int | str, *, host: str | None = None) -> Self:
        """Open a connection to this port."""
        made = cls()
        action: dict[str, Any] = {"port": made._port_or_name("tcpSocket.port", port)}
        if host is not None:
            action["host"] = made._text("tcpSocket.host", host)
        return made._put("tcpSocket", action)

    @classmethod
    def exec(cls, *command: str | Iterable[str]) -> Self:
        """Run a command in the container; it does well when it exits with 0."""
        made = cls()
        words = made._texts("exec.command", command)
        if not words:
            raise made._error("exec.command", "must name a program")
        return made._put("exec", {"command": words})


class Probe(_Action):
    """`Probe.http("/health", 8080).period(10)`, `Probe.tcp(5432)`, `Probe.exec("true")`."""

    __slots__ = ()

    @classmethod
    def grpc(cls, port: int, service: str | None = None) -> Self:
        """Ask the standard gRPC health service."""
        made = cls()
        action: dict[str, Any] = {"port": made._port("grpc.port", port)}
        if service is not None:
            action["service"] = made._text("grpc.service", service)
        return made._put("grpc", action)

    def initial_delay(self, seconds: int) -> Self:
        return self._put_or_drop("initialDelaySeconds", self._count("initialDelaySeconds", seconds))

    def period(self, seconds: int) -> Self:
        return self._put("periodSeconds", self._count("periodSeconds", seconds, 1))

    def timeout(self, seconds: int) -> Self:
        return self._put("timeoutSeconds", self._count("timeoutSeconds", seconds, 1))

    def success_threshold(self, times: int) -> Self:
        """How many successes in a row make it ready again; readiness probes only."""
        return self._put("successThreshold", self._count("successThreshold", times, 1))

    def failure_threshold(self, times: int) -> Self:
        return self._put("failureThreshold", self._count("failureThreshold", times, 1))

    def termination_grace_period(self, seconds: int) -> Self:
        """How long the container may take to stop when this probe fails; not for readiness probes."""
        field = "terminationGracePeriodSeconds"
        return self._put(field, self._count(field, seconds, 1))


class Hook(_Action):
    """What is done after a container starts or before it stops: `Hook.exec("sync")`, `Hook.sleep(5)`."""

    __slots__ = ()

    @classmethod
    def sleep(cls, seconds: int) -> Self:
        made = cls()
        return made._put("sleep", {"seconds": made._count("sleep.seconds", seconds)})
