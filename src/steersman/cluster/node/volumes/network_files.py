"""The contents of a pod's /etc/hosts and /etc/resolv.conf. Pure but for reading this machine's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steersman.objects.kinds.types.core_v1 import Pod

__all__ = ["ResolverConfig", "asks_cluster", "host_resolver", "hosts_file", "node_hosts_file", "pod_resolver"]


_MANAGED: Final = """# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""
_SERVERS: Final = 3
_SEARCHES: Final = 32
_SEARCH_LENGTH: Final = 2048
_DOMAIN_LENGTH: Final = 253


def hosts_file(ips: Sequence[str], host: str, domain: str, aliases: Iterable[Mapping[str, Any]]) -> str:
    """What a pod with its own network finds in /etc/hosts."""
    names = f"{host}.{domain}\t{host}" if domain else host
    return _MANAGED + "".join(f"{ip}\t{names}\n" for ip in ips) + _aliases(aliases)


def node_hosts_file(own: str, aliases: Iterable[Mapping[str, Any]]) -> str:
    """What a pod with the node's network finds; `own` is the node's file."""
    return f"# Kubernetes-managed hosts file (host network).\n{own}{_aliases(aliases)}"


def _aliases(aliases: Iterable[Mapping[str, Any]]) -> str:
    lines = ["\t".join((alias["ip"], *(alias.get("hostnames") or ()))) for alias in aliases]
    return "\n# Entries added by HostAliases.\n" + "".join(f"{line}\n" for line in lines) if lines else ""


@dataclass(frozen=True, slots=True)
class ResolverConfig:
    """The contents of /etc/resolv.conf."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def text(self) -> str:
        lines = [f"search {' '.join(self.searches)}"] if self.searches else []
        lines += [f"nameserver {server}" for server in self.servers]
        if self.options:
            lines.append(f"options {' '.join(self.options)}")
        return "".join(f"{line}\n" for line in lines)


def host_resolver(text: str) -> ResolverConfig:
    """What this machine's own file says."""
    servers: list[str] = []
    searches: list[str] = []
    options: dict[str, str] = {}
    for line in text.splitlines():
        match line.split():
            case ["nameserver", server, *_]:
                servers.append(server)
            case ["search", *domains]:
                searches = [domain.removesuffix(".") for domain in domains if domain != "."]
            case ["options", *given]:
                options |= {option.partition(":")[0]: option for option in given}
    return ResolverConfig(tuple(servers), tuple(searches), tuple(options.values()))


def asks_cluster(pod: Pod) -> bool:
    """Whether a pod is to know the names of the cluster."""
    policy = pod["spec"].get("dnsPolicy") or "ClusterFirst"
    on_host = bool(pod["spec"].get("hostNetwork"))
    return policy == "ClusterFirstWithHostNet" or (policy == "ClusterFirst" and not on_host)


def pod_resolver(
    pod: Pod, host: ResolverConfig, servers: Sequence[str], domain: str
) -> tuple[ResolverConfig, list[str]]:
    """What a pod's file says, given the cluster's DNS (none: `servers` is empty), and what it lacks."""
    spec = pod["spec"]
    if spec.get("dnsPolicy") == "None":
        base = ResolverConfig()
    elif servers and asks_cluster(pod):
        namespace = pod["metadata"]["namespace"]
        own = (f"{namespace}.svc.{domain}", f"svc.{domain}", domain) if domain else ()
        base = ResolverConfig(tuple(servers), _unique((*own, *host.searches)), ("ndots:5",))
    else:
        base = host
    return _fitting(_merged(base, spec.get("dnsConfig") or {}))


def _merged(base: ResolverConfig, config: Mapping[str, Any]) -> ResolverConfig:
    options: dict[str, str] = {}
    for option in base.options:
        name, _, value = option.partition(":")
        options[name] = value
    options |= {option["name"]: option.get("value") or "" for option in config.get("options") or ()}
    return ResolverConfig(
        _unique((*base.servers, *(config.get("nameservers") or ()))),
        _unique((*base.searches, *(config.get("searches") or ()))),
        tuple(f"{name}:{value}" if value else name for name, value in options.items()),
    )


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _fitting(resolver: ResolverConfig) -> tuple[ResolverConfig, list[str]]:
    """Without what resolvers do not read any more, and what to tell about that."""
    told = []
    servers = resolver.servers[:_SERVERS]
    if servers != resolver.servers:
        told.append(
            "Nameserver limits were exceeded, some nameservers have been omitted, "
            f"the applied nameserver line is: {' '.join(servers)}"
        )
    searches = [one for one in resolver.searches[:_SEARCHES] if len(one) <= _DOMAIN_LENGTH]
    while len(" ".join(searches)) > _SEARCH_LENGTH:
        searches.pop()
    if tuple(searches) != resolver.searches:
        told.append(
            "Search Line limits were exceeded, some search paths have been omitted, "
            f"the applied search line is: {' '.join(searches)}"
        )
    return ResolverConfig(servers, tuple(searches), resolver.options), told
