"""The preparation of pods on a node with real containers: volumes, environment, probes, hooks.

`pod_services` constructs the parts of a `NodeContext`; `PodPreparation` prepares pods and containers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, cast

from steersman.client import Client
from steersman.cluster.node.cri import ContainerEvent, Mount, RuntimeService
from steersman.cluster.node.downward import DownwardNodeFacts, pod_addresses
from steersman.cluster.node.environment import EnvironmentSources, environment, expand_all, service_variables
from steersman.cluster.node.environment.service_links import API_SERVICE
from steersman.cluster.node.environment.variables import CONFIG_ERROR
from steersman.cluster.node.errors import MountFailed, StartFailed
from steersman.cluster.node.events import NodeEvents
from steersman.cluster.node.hostnames import host_and_domain
from steersman.cluster.node.lifecycle import LifecycleHooks
from steersman.cluster.node.node_object import NodeConfig
from steersman.cluster.node.preparation import Prepared
from steersman.cluster.node.probing import ContainerProber
from steersman.cluster.node.timers import Starter, Timers
from steersman.cluster.node.volumes import (
    ImageFolder,
    ObjectReference,
    PodCertificates,
    PodVolumes,
    Projections,
    ReadyVolume,
    References,
    Tokens,
    VolumeSources,
    container_mounts,
)
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.host_paths import read_part
from steersman.cluster.node.volumes.network_files import (
    ResolverConfig,
    asks_cluster,
    host_resolver,
    hosts_file,
    node_hosts_file,
    pod_resolver,
)
from steersman.cluster.node.volumes.ownership import missing_groups
from steersman.cluster.node.volumes.references import NotRead
from steersman.objects.amounts import parsed, subtracted, texts
from steersman.objects.kinds.types.core_v1 import Container, Pod, Service
from steersman.objects.pods import environment_sources
from steersman.objects.quantities import Quantity
from steersman.objects.resources import CONFIG_MAPS, SECRETS
from steersman.runtime import Informer

__all__ = ["PodPreparation", "PodServices", "PodSettings", "ServiceNames", "pod_services"]


_KINDS: Final = {"configMap": CONFIG_MAPS, "secret": SECRETS}
_HOSTS: Final = "/etc/hosts"
_RESOLV_CONF: Final = "/etc/resolv.conf"
_FILES: Final = {_RESOLV_CONF: "resolv.conf", _HOSTS: "etc-hosts"}
_FILE_MODE: Final = 0o644
#: Changes of services come in groups.
_NAMES_S: Final = 0.2


class ServiceNames(Protocol):
    """The names of Services for /etc/hosts."""

    def hosts_lines(self, namespace: str) -> Sequence[str]:
        """For a pod of a namespace."""
        ...

    def on_change(self, told: Callable[[], None]) -> None:
        """Have somebody told when the lines may be others."""
        ...


@dataclass(frozen=True, slots=True)
class PodSettings:
    """The cluster's settings for pods: DNS, cluster domain, API server address, host files."""

    #: Addresses of the cluster's DNS; without any, pods ask whom this machine asks.
    dns: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    #: For pods that cannot ask the cluster's DNS.
    names: ServiceNames | None = None
    #: Where pods reach the API; None: at the address of the Service `kubernetes`.
    api: tuple[str, int] | None = None
    #: This machine's own files.
    hosts: Path = Path(_HOSTS)
    resolv_conf: Path = Path(_RESOLV_CONF)


@dataclass(frozen=True, slots=True)
class PodServices:
    """The parts of a `NodeContext` for a node with real containers."""

    preparation: PodPreparation
    prober: ContainerProber
    hooks: LifecycleHooks


class PodPreparation:
    """The `Preparation` of a node with real containers."""

    def __init__(
        self,
        volumes: PodVolumes,
        references: References,
        sources: VolumeSources,
        services: Informer,
        events: NodeEvents,
        node: DownwardNodeFacts,
        surroundings: PodSettings,
        timers: Timers,
    ) -> None:
        self._volumes = volumes
        #: What pods refer to, as it is now.
        self.references = references
        self._sources = sources
        self._services = services
        self._events = events
        self._node = node
        self._surroundings = surroundings
        self._timers = timers
        self._listener: Callable[[ContainerEvent], None] = lambda _: None
        #: Pods with names of services in their /etc/hosts, and their addresses.
        self._named: dict[str, tuple[Pod, Sequence[str]]] = {}
        self._renaming = False
        if surroundings.names is not None:
            surroundings.names.on_change(self._names_changed)

    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        self._listener = listener

    def poke(self, uid: str) -> None:
        """Have a pod looked at."""
        self._listener(ContainerEvent(uid, ""))

    def notice(self, pod: Pod) -> None:
        self._volumes.notice(pod)
        addresses = (pod.get("status") or {}).get("podIPs") or ()
        self._note_names(pod, pod_addresses(pod, [one["ip"] for one in addresses], self._node))

    def excess(self, uid: str) -> str:
        return self._volumes.excess(uid)

    async def pod(self, pod: Pod) -> None:
        self._warn_of_groups(pod)
        await self._volumes.set_up(pod)

    async def ended(self, uid: str) -> None:
        self._named.pop(uid, None)
        await self._volumes.ended(uid)

    def sweep(self, live: Collection[str]) -> None:
        self._volumes.sweep(live)

    def left(self) -> None:
        self._sources.unmount()

    async def container(self, pod: Pod, container: Container, ips: Sequence[str]) -> Prepared:
        ips = pod_addresses(pod, ips, self._node)
        try:
            volumes = await self._volumes.ready(pod)
            variables = await self._variables(pod, container, ips, volumes)
            mounts = container_mounts(container, volumes, variables)
            mounts += self._network_files(pod, container, ips)
        except (MountFailed, NotRead, VolumeProblem, OSError) as error:
            raise StartFailed(CONFIG_ERROR, str(error)) from error
        return Prepared(
            expand_all(container.get("command") or (), variables),
            expand_all(container.get("args") or (), variables),
            {"HOSTNAME": self._names(pod)[0], **variables},
            container.get("workingDir") or "",
            mounts,
        )

    def _warn_of_groups(self, pod: Pod) -> None:
        """A node that may not change groups says so; its pods' volumes are its own user's, as they are."""
        context = pod["spec"].get("securityContext") or {}
        asked = (context.get("fsGroup"), *(context.get("supplementalGroups") or ()))
        if missing := missing_groups(group for group in asked if group is not None):
            note = (
                f"this node runs as user {os.geteuid()} and cannot give its pods further groups: "
                f"{', '.join(map(str, missing))} (fsGroup, supplementalGroups)"
            )
            self._events.warning(pod, "GroupsNotGiven", note)

    # --- variables

    async def _variables(
        self,
        pod: Pod,
        container: Container,
        ips: Sequence[str],
        volumes: Mapping[str, ReadyVolume],
    ) -> dict[str, str]:
        def read_file(volume: str, path: str) -> str:
            ready = volumes.get(volume)
            if ready is None:
                raise FileNotFoundError(f"cannot find the volume {volume} referenced by FileKeyRef")
            return read_part(ready.path, path)

        namespace = pod["metadata"]["namespace"]
        objects = {}
        for kind, resource in _KINDS.items():
            for _, name in environment_sources(dict(container), kind):
                reference = ObjectReference.to(resource, namespace, name)
                objects[kind, name] = await self.references.one(reference) if name else None
        given = {**({"POD_IP": ips[0]} if ips else {}), **await self._service_links(pod)}
        return environment(pod, container, EnvironmentSources(self._node, ips, given, objects, read_file))

    async def _service_links(self, pod: Pod) -> dict[str, str]:
        await self._services.wait_synced()
        cache, namespace = self._services.cache, pod["metadata"]["namespace"]
        links = pod["spec"].get("enableServiceLinks") is not False
        found = [one.object() for one in cache.list(namespace)] if links else []
        if (address := self._surroundings.api) is not None:
            found.insert(0, _api_service(*address))
        elif (api := cache.get(API_SERVICE)) is not None:
            found.insert(0, api.object())
        return service_variables(cast("list[Service]", found), namespace, links=links)

    # --- files

    def _network_files(self, pod: Pod, container: Container, ips: Sequence[str]) -> tuple[Mount, ...]:
        """/etc/hosts and /etc/resolv.conf, unless the container brings its own."""
        taken = {mount["mountPath"] for mount in container.get("volumeMounts") or ()}
        contents = {_RESOLV_CONF: self._resolv_conf(pod)}
        if ips:
            contents[_HOSTS] = self._hosts(pod, ips)
            self._note_names(pod, ips)
        folder = self._sources.make_pod_folder(pod["metadata"]["uid"])
        mounts = []
        for path, content in contents.items():
            if path not in taken:
                own = folder / _FILES[path]
                _write(own, content)
                mounts.append(Mount(path, str(own)))
        return tuple(mounts)

    def _hosts(self, pod: Pod, ips: Sequence[str]) -> str:
        aliases = pod["spec"].get("hostAliases") or ()
        if pod["spec"].get("hostNetwork"):
            text = node_hosts_file(_read(self._surroundings.hosts), aliases)
        else:
            text = hosts_file(ips, *self._names(pod), aliases)
        if (names := self._surroundings.names) is None or not asks_cluster(pod):
            return text
        lines = names.hosts_lines(pod["metadata"]["namespace"])
        return text + "".join(f"{line}\n" for line in ("\n# Services of the cluster.", *lines) if lines)

    def _note_names(self, pod: Pod, ips: Sequence[str]) -> None:
        if ips and self._surroundings.names is not None and asks_cluster(pod):
            uid = pod["metadata"]["uid"]
            new = uid not in self._named
            self._named[uid] = pod, ips
            if new:
                # Its file may be one that an earlier process wrote.
                self._names_changed()

    def _names_changed(self) -> None:
        if self._named and not self._renaming:
            self._renaming = True
            self._timers.after(_NAMES_S, (self, "names"), self._rewrite_names)

    def _rewrite_names(self) -> None:
        self._renaming = False
        for uid, (pod, ips) in self._named.items():
            file = self._sources.pod_folder(uid) / _FILES[_HOSTS]
            if file.exists():
                _write(file, self._hosts(pod, ips))

    def _names(self, pod: Pod) -> tuple[str, str]:
        return host_and_domain(pod, self._surroundings.cluster_domain, self._node.name)

    def _resolv_conf(self, pod: Pod) -> str:
        own = self._surroundings
        if own.dns or pod["spec"].get("dnsConfig") or pod["spec"].get("dnsPolicy") == "None":
            known = host_resolver(_read(own.resolv_conf))
            resolver, problems = pod_resolver(pod, known, own.dns, own.cluster_domain)
            for problem in problems:
                self._events.warning(pod, "DNSConfigForming", problem)
            return resolver.text()
        return _read(own.resolv_conf) or ResolverConfig().text()


def _read(path: Path) -> str:
    """A file of this machine; empty if there is none."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _write(path: Path, content: str) -> None:
    """Write in place: who has the file mounted sees it."""
    if not path.exists() or _read(path) != content:
        path.write_text(content, encoding="utf-8")
        path.chmod(_FILE_MODE)


def _api_service(host: str, port: int) -> dict[str, Any]:
    namespace, name = API_SERVICE
    return {
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"clusterIP": host, "ports": [{"name": "https", "protocol": "TCP", "port": port}]},
    }


def pod_services(
    client: Client,
    timers: Timers,
    start: Starter,
    folder: Path,
    config: NodeConfig,
    *,
    runtime: RuntimeService,
    events: NodeEvents,
    services: Informer,
    surroundings: PodSettings | None = None,
    image_folder: ImageFolder = lambda _: None,
) -> PodServices:
    """What a node's pods need. `folder` is the node's own, `services` knows all Services of the cluster."""
    allocatable = subtracted(parsed(config.capacity), parsed(config.reserved))
    node = DownwardNodeFacts(config.name, tuple(config.addresses), texts(allocatable))

    def poke(uid: str) -> None:
        preparation.poke(uid)

    def changed(uid: str) -> None:
        volumes.changed(uid)

    tokens = Tokens(client, timers.clock)
    references = References(client, timers.clock, start, changed)
    certificates = PodCertificates(client, timers.clock, references, events.warning)
    projections = Projections(references, tokens, certificates, node)
    memory = allocatable.get("memory", Quantity(0))
    sources = VolumeSources(folder / "pods", client, timers.clock, projections, memory, image_folder)
    volumes = PodVolumes(sources, references, timers, start, poke)
    preparation = PodPreparation(
        volumes, references, sources, services, events, node, surroundings or PodSettings(), timers
    )
    prober = ContainerProber(runtime, events, timers, start, node)
    return PodServices(preparation, prober, LifecycleHooks(runtime, events, timers.clock, node))
