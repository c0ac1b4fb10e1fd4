"""The service proxy: watches Services and EndpointSlices and configures the forwarder.

One proxy serves a machine, however many of the cluster's nodes are on it. It works on from its caches when
there is no API server. Nothing is closed before the caches are filled, and a change of endpoints touches no
connection that there is.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from steersman.aio import Scope
from steersman.cluster.machine import Machine, MachineError
from steersman.cluster.proxy.frontends import Frontend, FrontendRoute
from steersman.cluster.proxy.health_checks import HealthChecks
from steersman.cluster.proxy.process import ForwarderFiles, ForwarderProcess
from steersman.cluster.proxy.routing import ProxyLocation, is_proxied, local_endpoints, routes
from steersman.cluster.proxy.stand_ins import StandInList, announce, is_announced, stand_ins_of
from steersman.election import default_identity
from steersman.objects.kinds.types.core_v1 import Node, Service
from steersman.objects.kinds.types.discovery_v1 import EndpointSlice
from steersman.objects.labels import labels_of
from steersman.objects.resources import ENDPOINT_SLICES, NODES, SERVICES
from steersman.runtime import Cached, Change, Key, Manager, Recorder

__all__ = ["LowPorts", "ServiceProxy", "add_proxy"]

_log = logging.getLogger(__name__)


_SERVICE_LABEL: Final = "kubernetes.io/service-name"
_ZONE_LABEL: Final = "topology.kubernetes.io/zone"
_INDEX: Final = "proxied service"
#: Services looked at before others of this process have their turn.
_AT_ONCE: Final = 32
#: How soon a frontend that could not be opened is tried again.
_RETRY_S: Final = 2.0
_PROBLEMS: Final = {
    errno.EADDRINUSE: "something else on this machine listens there, perhaps at all addresses (0.0.0.0); "
    "have it listen at its pod's address only",
    errno.EACCES: "this process has no right to the port, which it had when it was started",
}


def add_proxy(
    manager: Manager,
    machine: Machine,
    node_addresses: Sequence[str] = ("127.0.0.1",),
    home: ForwarderFiles | None = None,
    recalled: Callable[[], None] = lambda: None,
    low_ports: LowPorts | None = None,
) -> ServiceProxy:
    """Have a manager run the proxy. `node_addresses` are those of the cluster's nodes on this machine: there
    node ports answer, and nodes that have one of them are here. With a `home` services answer without a
    proxy, too; `recalled` is told when all their addresses are known again. `low_ports` are those
    that it may not listen at."""
    proxy = ServiceProxy(manager, machine, node_addresses, home, recalled, low_ports or LowPorts())
    manager.add_service("service proxy", proxy.run)
    return proxy


class LowPorts(NamedTuple):
    """The ports that this process may not listen on, and the folder for the list of their stand-ins."""

    first_free: int = 1
    folder: Path | None = None


class _Node(NamedTuple):
    """The addresses and zone of a node."""

    addresses: frozenset[str]
    zone: str


class ServiceProxy:
    """The proxy of one machine."""

    def __init__(
        self,
        manager: Manager,
        machine: Machine,
        node_addresses: Sequence[str],
        home: ForwarderFiles | None,
        recalled: Callable[[], None],
        low_ports: LowPorts,
    ) -> None:
        self._client = manager.client
        self._clock = manager.clock
        self._machine = machine
        self._node_addresses = node_addresses
        self._services = manager.informers.get(SERVICES)
        self._slices = manager.informers.get(ENDPOINT_SLICES)
        self._nodes = manager.informers.get(NODES)
        self._slices.cache.add_index(_INDEX, _service_names)
        recorder = Recorder(manager.client, "service-proxy", default_identity(), clock=manager.clock)
        self._recorder = manager.add_recorder(recorder)
        self.forwarder: Final = ForwarderProcess(manager.clock, self._on_failure, home)
        self._first_free_port = low_ports.first_free
        self._stand_ins = StandInList(low_ports.folder)
        self._list_trouble = ""
        self._is_writing_later = False
        self._recalled = recalled
        self._health_checks = HealthChecks(node_addresses)
        #: Those on this machine, by name.
        self._known_nodes: dict[str, _Node] = {}
        #: What a service should have, whether or not it can; what is open of it; whose a frontend is.
        self._claims: dict[Key, set[Frontend]] = {}
        self._routes: dict[Key, dict[Frontend, FrontendRoute]] = {}
        self._owners: dict[Frontend, Key] = {}
        #: Services and addresses they have nothing at any more but connections, perhaps.
        self._leaving: set[tuple[Key, str]] = set()
        self._is_waiting = False
        #: Frontends of others that a service would have if it could.
        self._wanted: dict[Frontend, Key] = {}
        #: What was told of already: frontend and errno.
        self._told: set[tuple[Frontend, int]] = set()
        #: Versions of services that were asked to say where they answer.
        self._announced: dict[Key, str] = {}
        self._dirty: set[Key] = set()
        self._work = asyncio.Event()
        self._scope: Scope | None = None
        self.settled: Final = asyncio.Event()
        """Set while everything that is known is applied."""

    async def run(self) -> None:
        """Until cancelled; then nothing answers any more, unless the forwarder stays."""
        for informer in (self._services, self._slices, self._nodes):
            await informer.wait_synced()
        handlers = (
            (self._services, self._on_service),
            (self._slices, self._on_slice),
            (self._nodes, self._on_node),
        )
        try:
            async with Scope() as self._scope:
                self._scope.start(self.forwarder.run(), name="forwarder")
                for informer, handler in handlers:
                    informer.add_handler(handler)
                self._mark(self._services.cache.keys())
                await self._apply_changes()
                self._stand_ins.take_back_others()
                self._write_list()
                await self.forwarder.close_others()
                self._recalled()
                while True:
                    await self._work.wait()
                    await self._apply_changes()
        finally:
            self._scope = None
            for informer, handler in handlers:
                informer.remove_handler(handler)
            await self._health_checks.close()
            claimed = {(key, each.address) for key, claims in self._claims.items() for each in claims}
            for key, address in () if self.forwarder.stays else self._leaving | claimed:
                await self._remove(key, address)
            for state in (self._claims, self._routes, self._owners, self._leaving):
                state.clear()

    # --- what changes

    def _mark(self, keys: Iterable[Key]) -> None:
        before = len(self._dirty)
        self._dirty.update(keys)
        if len(self._dirty) > before:
            self.settled.clear()
            self._work.set()

    def _on_service(self, change: Change) -> None:
        if not change.resync:
            self._mark((change.key,))

    def _on_slice(self, change: Change) -> None:
        if change.resync:
            return
        seen = [cached for cached in (change.old, change.new) if cached is not None]
        self._mark(Key(cached.namespace, name) for cached in seen for name in _names(cached))

    def _on_node(self, change: Change) -> None:
        name = change.key.name
        before = self._known_nodes.pop(name, None)
        if change.new is not None and (found := self._found_here(change.new)) is not None:
            self._known_nodes[name] = found
        if self._known_nodes.get(name) != before:
            self._mark(self._services.cache.keys())

    def _found_here(self, cached: Cached) -> _Node | None:
        """A node of this machine, by its addresses."""
        node = cast("Node", cached.object())
        listed = (node.get("status") or {}).get("addresses") or ()
        addresses = {each["address"] for each in listed if each["type"] == "InternalIP"}
        here = addresses.intersection(self._node_addresses)
        zone = labels_of(node).get(_ZONE_LABEL) or ""
        return _Node(frozenset(here), zone) if here else None

    def _place(self) -> ProxyLocation:
        names: dict[str, set[str]] = {address: set() for address in self._node_addresses}
        for name, node in self._known_nodes.items():
            for address in node.addresses:
                names[address].add(name)
        zones = {node.zone for node in self._known_nodes.values()} - {""}
        # What no node calls its own, such as localhost, is everybody's.
        everybody = frozenset(self._known_nodes)
        nodes = {address: frozenset(found) or everybody for address, found in names.items()}
        return ProxyLocation(nodes, frozenset(zones))

    # --- applying

    async def _apply_changes(self) -> None:
        self._work.clear()
        keys, self._dirty = list(self._dirty), set()
        for start in range(0, len(keys), _AT_ONCE):
            await self._apply(keys[start : start + _AT_ONCE])
            self._write_list()
            await asyncio.sleep(0)
        if not self._dirty:
            self.settled.set()

    async def _apply(self, keys: Iterable[Key]) -> None:
        opened: dict[Frontend, FrontendRoute] = {}
        closed: set[Frontend] = set()
        place = self._place()
        left: dict[Key, set[Frontend]] = {}
        for key in keys:
            before, claimed = self._routes.pop(key, {}), self._claims.pop(key, set())
            try:
                wanted = await self._prepare(key, self._read(key), place)
            except Exception:  # noqa: BLE001 - one service must not be the end of all
                _log.exception("the routing of the service %s is unchanged", key)
                self._routes[key], self._claims[key] = before, claimed
                self._retry(key)
                continue
            opened.update((each, route) for each, route in wanted.items() if before.get(each) != route)
            closed |= before.keys() - wanted.keys()
            left[key] = claimed - self._claims.get(key, set())
            for frontend in left[key]:
                self._release(frontend, key)
            if wanted:
                self._routes[key] = wanted
        await self.forwarder.apply(opened, closed - opened.keys())
        for key, frontends in left.items():
            self._leaving |= {(key, frontend.address) for frontend in frontends}
        await self._give_back()

    def _write_list(self) -> None:
        """Services answer whether or not pods can be led to their stand-ins: that is said once, and tried
        again."""
        try:
            self._stand_ins.write()
        except OSError as error:
            if self._list_trouble != str(error):
                self._list_trouble = str(error)
                _log.warning("the list of stand-in ports for pods cannot be written: %s", error)
            if not self._is_writing_later:
                self._is_writing_later = True
                assert self._scope is not None
                self._scope.start(self._write_list_later(), name="list of stand-ins")
        else:
            self._list_trouble = ""

    async def _write_list_later(self) -> None:
        await self._clock.sleep(_RETRY_S)
        self._is_writing_later = False
        self._write_list()

    def _read(self, key: Key) -> Service | None:
        cached = self._services.cache.get(key)
        return None if cached is None else cast("Service", cached.object())

    async def _prepare(
        self, key: Key, service: Service | None, place: ProxyLocation
    ) -> dict[Frontend, FrontendRoute]:
        """What a service has now, its addresses on this machine."""
        if service is None or not is_proxied(service):
            await self._health_checks.keep(key, 0, 0)
            self._stand_ins.set(key, (), {})
            self._announced.pop(key, None)
            return {}
        filed = self._slices.cache.by_index(_INDEX, f"{key.namespace}/{key.name}")
        slices = [cast("EndpointSlice", cached.object()) for cached in filed]
        self._refuse_others(service)
        count = local_endpoints(service, slices, place)
        await self._health_checks.keep(key, service["spec"].get("healthCheckNodePort") or 0, count)
        found = {}
        claims = self._claims[key] = set()
        stand_ins = stand_ins_of(service, self._first_free_port)
        self._announce(key, service, stand_ins)
        for frontend, route in routes(service, slices, place, self._machine.lends, stand_ins).items():
            if self._owners.setdefault(frontend, key) != key:
                self._wanted[frontend] = key
                self._warn_of_failure(service, frontend, 0, f"{self._owners[frontend]} has this address")
                continue
            claims.add(frontend)
            if await self._has_address(service, frontend):
                found[frontend] = route
        self._stand_ins.set(key, claims, stand_ins)
        return found

    def _announce(self, key: Key, service: Service, stand_ins: dict[int, int]) -> None:
        """Have the Service say where it answers, which is asked for once for each of its versions."""
        version = service["metadata"]["resourceVersion"]
        if is_announced(service, stand_ins) or self._announced.get(key) == version:
            return
        self._announced[key] = version
        for port, other in stand_ins.items():
            note = (
                f"port {port} answers at {other} on this machine: lower ones than {self._first_free_port} "
                "are for root (net.ipv4.ip_unprivileged_port_start)"
            )
            self._recorder.event(service, "Normal", "StandInPort", note, action="Listen")

        async def annotate() -> None:
            if not await announce(self._client, service, stand_ins):
                await self._clock.sleep(_RETRY_S)
                self._announced.pop(key, None)
                self._mark((key,))

        assert self._scope is not None
        self._scope.start(annotate(), name=f"stand-ins of {key}")

    async def _has_address(self, service: Service, frontend: Frontend) -> bool:
        """Whether the address is here, after it was added."""
        try:
            await self._machine.add(frontend.address, _owner(Key.of(service)))
        except MachineError as error:
            self._warn_of_failure(service, frontend, errno.EADDRNOTAVAIL, str(error))
            return False
        return True

    async def _give_back(self) -> None:
        """Addresses that services have no frontends at any more. Connections go on without a frontend, but
        not without their address, so it stays as long as they do."""
        if not self._leaving:
            return
        leaving = set(self._leaving)
        used = await self.forwarder.used({address for _, address in leaving})
        for key, address in leaving & self._leaving:
            if any(frontend.address == address for frontend in self._claims.get(key, ())):
                self._leaving.discard((key, address))
            elif address not in used:
                self._leaving.discard((key, address))
                await self._remove(key, address)
        if self._leaving and not self._is_waiting:
            self._is_waiting = True
            assert self._scope is not None
            self._scope.start(self._give_back_later(), name="addresses in use")

    async def _give_back_later(self) -> None:
        await self._clock.sleep(_RETRY_S)
        self._is_waiting = False
        await self._give_back()

    async def _remove(self, key: Key, address: str) -> None:
        try:
            await self._machine.remove(address, _owner(key))
        except MachineError as error:
            _log.warning("the address %s cannot be removed from this machine: %s", address, error)

    def _release(self, frontend: Frontend, key: Key) -> None:
        """Let another service have it that wanted it too."""
        if self._owners.get(frontend) == key:
            del self._owners[frontend]
        self._told = {told for told in self._told if told[0] != frontend}
        if (other := self._wanted.pop(frontend, None)) is not None:
            self._mark((other,))

    # --- what cannot be done

    def _refuse_others(self, service: Service) -> None:
        for port in service["spec"].get("ports") or ():
            if port.get("protocol") == "SCTP":
                note = f"port {port['port']} does not answer: SCTP is not supported here"
                self._recorder.event(service, "Warning", "UnsupportedProtocol", note, action="Listen")

    def _on_failure(self, frontend: Frontend, code: int) -> None:
        """The forwarder could not listen: perhaps later."""
        key = self._owners.get(frontend)
        if key is None or self._scope is None:
            return
        self._routes.get(key, {}).pop(frontend, None)
        service = self._read(key)
        if service is None:
            return
        self._warn_of_failure(service, frontend, code, _PROBLEMS.get(code) or os.strerror(code))
        if code != errno.EACCES:
            self._retry(key)

    def _retry(self, key: Key) -> None:
        async def later() -> None:
            await self._clock.sleep(_RETRY_S)
            self._mark((key,))

        assert self._scope is not None
        self._scope.start(later(), name=f"retry {key}")

    def _warn_of_failure(self, service: Service, frontend: Frontend, code: int, why: str) -> None:
        if (frontend, code) in self._told:
            return
        self._told.add((frontend, code))
        _log.warning("cannot listen for a service at %s: %s", frontend, why)
        self._recorder.event(
            service, "Warning", "FailedToListen", f"cannot listen at {frontend}: {why}", action="Listen"
        )


def _names(cached: Cached) -> list[str]:
    name = cached.labels().get(_SERVICE_LABEL)
    return [name] if name else []


def _service_names(cached: Cached) -> list[str]:
    return [f"{cached.namespace}/{name}" for name in _names(cached)]


def _owner(key: Key) -> str:
    return f"service {key}"
