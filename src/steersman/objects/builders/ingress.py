"""Ingress and IngressRule: which host and path of HTTP traffic goes to which service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final, Self, get_args

from steersman.objects import resources
from steersman.objects.builders.part import Part
from steersman.objects.builders.resource import Resource
from steersman.objects.kinds.enums import PathType
from steersman.objects.names import is_wildcard_dns1123_subdomain, name_is_dns_label, name_is_dns_subdomain

__all__ = ["Ingress", "IngressRule"]

_PATH_TYPES: Final = get_args(PathType)


def _host_problems(host: str) -> list[str]:
    return is_wildcard_dns1123_subdomain(host) if "*" in host else name_is_dns_subdomain(host)


class _Backends(Part):
    """What sends traffic to services."""

    __slots__ = ()

    def _backend(self, field: str, service: str, port: int | str) -> dict[str, Any]:
        name = self._name(field, service, name_is_dns_label)
        checked = self._port_or_name(field, port)
        return {
            "service": {"name": name, "port": {"name" if isinstance(checked, str) else "number": checked}}
        }


class IngressRule(_Backends):
    """`IngressRule("example.com").path("/api", "api-service", 80)`; without a host, for every host."""

    __slots__ = ()

    def __init__(self, host: str | None = None) -> None:
        super().__init__()
        if host is not None:
            self.host(host)

    def host(self, host: str) -> Self:
        """A DNS name, or one with a first label of `*`."""
        return self._put("host", self._name("host", host, _host_problems))

    def path(self, path: str, service: str, port: int | str, path_type: PathType = "Prefix") -> Self:
        if self._text("http.paths.path", path)[0] != "/":
            raise self._error("http.paths.path", f"must begin with /, not {path!r}")
        entry = {
            "path": path,
            "pathType": self._choice("http.paths.pathType", path_type, _PATH_TYPES),
            "backend": self._backend("http.paths.backend", service, port),
        }
        self._object.setdefault("http", {}).setdefault("paths", []).append(entry)
        return self

    def _called(self) -> str:
        host: str = self._object.get("host", "")
        return host


class Ingress(Resource, _Backends):
    """`Ingress("web").ingress_class("nginx").rule(IngressRule("example.com").path("/", "web", 80))`."""

    __slots__ = ()

    resource_type: ClassVar = resources.INGRESSES

    def ingress_class(self, name: str) -> Self:
        return self._put_spec("ingressClassName", self._name("spec.ingressClassName", name))

    def rule(self, rule: IngressRule) -> Self:
        if not isinstance(rule, IngressRule):
            raise self._error("spec.rules", f"must be an IngressRule, not {rule!r}")
        made = rule.to_object()
        if "http" not in made:
            raise self._error("spec.rules", f"the rule for {made.get('host', 'every host')} has no path")
        self._edit_spec().setdefault("rules", []).append(made)
        return self

    def tls(self, hosts: str | Iterable[str], secret: str | None = None) -> Self:
        """Serve these hosts by TLS, with the certificate in the secret."""
        names = self._texts("spec.tls.hosts", [hosts])
        for name in names:
            self._name("spec.tls.hosts", name, _host_problems)
        entry: dict[str, Any] = {"hosts": names}
        if secret is not None:
            entry["secretName"] = self._name("spec.tls.secretName", secret)
        self._edit_spec().setdefault("tls", []).append(entry)
        return self

    def default_backend(self, service: str, port: int | str) -> Self:
        """Where what no rule matches goes."""
        field = "spec.defaultBackend"
        return self._put_spec("defaultBackend", self._backend(field, service, port))

    def _complete(self, obj: dict[str, Any]) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("rules") and not spec.get("defaultBackend"):
            raise self._error("spec.rules", "has neither a rule nor a default backend")
