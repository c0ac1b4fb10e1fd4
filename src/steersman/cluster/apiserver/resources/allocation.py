"""Cluster IPs and node ports: each given to one service only.

The books are kept in memory and rebuilt from the stored services at start. A reservation is taken before
a service is written and kept only if the write succeeded, so a failed or dry-run request leaks nothing,
and two services written at the same time cannot get the same address.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterable
from typing import Any

from steersman.cluster.apiserver.resources.strategies.services import (
    assign_ip_families,
    carry_over_allocations,
    infer_ip_family_policy,
    needs_cluster_ip,
    needs_health_check_node_port,
    needs_node_port,
    sync_cluster_ips,
    wants_node_ports,
)
from steersman.objects.fields import Path, invalid
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, internal_error
from steersman.objects.status import invalid as invalid_object

__all__ = ["NODE_PORTS", "Reservation", "ServiceAllocator"]


NODE_PORTS = range(30000, 32768)
#: The lower band of the range is left to addresses people choose themselves.
_STATIC_PORT_BAND = 86
_STATIC_BAND_MIN, _STATIC_BAND_MAX, _STATIC_BAND_STEP = 16, 256, 16
#: What a dry run shows, where it would choose a port, counts from here.
_DRY_RUN_PORT = 32769


class _Pool:
    """Numbers of a range, each handed out once."""

    def __init__(self, numbers: range, static_band: int) -> None:
        self.numbers = numbers
        self._dynamic = numbers[static_band:] or numbers
        self.taken: set[int] = set()

    def take(self, number: int) -> bool:
        if number in self.taken:
            return False
        self.taken.add(number)
        return True

    def next(self) -> int | None:
        """A free number, rather from the dynamic band, taken."""
        for band in (self._dynamic, self.numbers):
            start = random.randrange(len(band))
            for offset in range(len(band)):
                number = band[(start + offset) % len(band)]
                if self.take(number):
                    return number
        return None


class Reservation:
    """What one request took; given back unless `keep` is called."""

    def __init__(self, *, dry_run: bool = False) -> None:
        self.dry_run = dry_run
        self._taken: list[tuple[_Pool, int]] = []
        self._freed: list[tuple[_Pool, int]] = []

    def took(self, pool: _Pool, number: int) -> None:
        self._taken.append((pool, number))

    def highest(self, pool: _Pool) -> int:
        """The highest number taken from a pool; 0 when there is none."""
        return max((number for owner, number in self._taken if owner is pool), default=0)

    def frees(self, pool: _Pool, number: int) -> None:
        """Something the old object held and the new one does not: free once the write succeeded."""
        self._freed.append((pool, number))

    def keep(self) -> None:
        self._taken = []
        for pool, number in self._freed:
            pool.taken.discard(number)
        self._freed = []

    def cancel(self) -> None:
        for pool, number in self._taken:
            pool.taken.discard(number)
        self._taken = []
        self._freed = []


class ServiceAllocator:
    def __init__(self, cidr: str) -> None:
        self.network = ipaddress.ip_network(cidr)
        first, size = int(self.network.network_address), self.network.num_addresses
        band = (
            0
            if size <= _STATIC_BAND_MIN
            else min(max(_STATIC_BAND_MIN, size // _STATIC_BAND_STEP), _STATIC_BAND_MAX)
        )
        self._addresses = _Pool(range(first + 1, first + size - 1), band)
        self._ports = _Pool(NODE_PORTS, _STATIC_PORT_BAND)

    @property
    def family(self) -> str:
        return f"IPv{self.network.version}"

    @property
    def first_address(self) -> str:
        """The API server's own."""
        return str(self.network.network_address + 1)

    def load(self, services: Iterable[Object]) -> None:
        """Take what stored services hold."""
        for service in services:
            for pool, number in self._held(service):
                pool.take(number)

    def release(self, service: Object) -> None:
        """A service is gone."""
        for pool, number in self._held(service):
            pool.taken.discard(number)

    def _held(self, service: Object) -> set[tuple[_Pool, int]]:
        spec = service["spec"]
        held = {(self._ports, port["nodePort"]) for port in spec.get("ports") or [] if port.get("nodePort")}
        if spec.get("healthCheckNodePort"):
            held.add((self._ports, spec["healthCheckNodePort"]))
        if spec.get("type") != "ExternalName":
            for address in spec.get("clusterIPs") or []:
                if address != "None" and (number := self._number(address)) is not None:
                    held.add((self._addresses, number))
        return held

    def _number(self, address: str) -> int | None:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return None
        return int(parsed) if parsed in self.network else None

    def carry_over(self, new: Object, old: Object) -> None:
        """Give an update that leaves out allocated values those the service has."""
        carry_over_allocations(new, old)

    def reserve(self, service: Object, old: Object | None, *, dry_run: bool = False) -> Reservation:
        """Complete a service with addresses and ports. Raises when it asks for what it cannot have."""
        reservation = Reservation(dry_run=dry_run)
        before = self._held(old) if old else set()
        self._settle_families(service, old)
        try:
            # An address that a service has never changes; validation refuses that.
            if needs_cluster_ip(service) and (old is None or not needs_cluster_ip(old)):
                self._reserve_address(service, reservation)
            if needs_node_port(service):
                if old is None:
                    self._reserve_ports(service, reservation)
                else:
                    self._reserve_changed_ports(service, before, reservation)
            self._reserve_health_check_port(service, before, reservation)
        except BaseException:
            reservation.cancel()
            raise
        for pool, number in before - self._held(service):
            reservation.frees(pool, number)
        return reservation

    def _settle_families(self, service: Object, old: Object | None) -> None:
        # Loaded with the first service, like all validation: a start should not wait for it.
        from steersman.cluster.schema.validation.services import validate_cluster_ips

        if old is None:
            sync_cluster_ips(service, None)
        if infer_ip_family_policy(service, old):
            errors = validate_cluster_ips(service, old) or assign_ip_families(service, old, (self.family,))
            if errors:
                raise invalid_object("", "Service", service["metadata"].get("name", ""), errors)

    def _reserve_address(self, service: Object, reservation: Reservation) -> None:
        spec = service["spec"]
        asked = spec.get("clusterIP", "")
        if asked == "None":
            return
        pool = self._addresses
        path = Path("spec").child("clusterIPs")
        if not asked:
            chosen = pool.next()
            if chosen is None:
                raise self._refused(
                    service, path, spec.get("clusterIPs"), "failed to allocate IP: range is full"
                )
            reservation.took(pool, chosen)
            spec["clusterIP"] = str(ipaddress.ip_address(chosen))
            spec["clusterIPs"] = [spec["clusterIP"]]
            return
        number = self._number(asked)
        spec.setdefault("clusterIPs", [asked])
        if number is None or number not in pool.numbers:
            why = "the provided network does not match the current range"
            if reservation.dry_run:
                valid = f"The range of valid IPs is {self.network}"
                why = f"the provided IP ({asked}) is not in the valid range. {valid}"
            raise self._refused(service, path, spec["clusterIPs"], f"failed to allocate IP {asked}: {why}")
        if reservation.dry_run:
            # A dry run does not check whether it is free.
            return
        if not pool.take(number):
            why = f"failed to allocate IP {asked}: provided IP is already allocated"
            raise self._refused(service, path, spec["clusterIPs"], why)
        reservation.took(pool, number)

    def _reserve_ports(self, service: Object, reservation: Reservation) -> None:
        """The node ports of a new service. The same port under two protocols gets one."""
        ports: list[Object] = service["spec"].get("ports") or []
        given: dict[int, int] = {}
        for index, port in enumerate(ports):
            asked = port.get("nodePort")
            if not asked and not wants_node_ports(service):
                continue
            shared = given.get(port["port"])
            if shared is None:
                asked = _shared_port(ports, port)
            elif not asked or asked == shared:
                port["nodePort"] = shared
                continue
            port["nodePort"] = self._port(service, index, asked, reservation)
            given.setdefault(port["port"], port["nodePort"])

    def _reserve_changed_ports(
        self, service: Object, before: set[tuple[_Pool, int]], reservation: Reservation
    ) -> None:
        """The node ports of a service that has some already."""
        mine = {number for owner, number in before if owner is self._ports}
        seen = set()
        for index, port in enumerate(service["spec"].get("ports") or []):
            asked = port.get("nodePort")
            if not asked and not wants_node_ports(service):
                continue
            if asked not in mine:
                port["nodePort"] = self._port(service, index, asked, reservation)
                mine.add(port["nodePort"])
            place = f"{port['protocol']} {port['nodePort']}"
            if place in seen:
                raise StatusError(500, "", f"duplicate nodePort: {{{place}}}")
            seen.add(place)

    def _port(self, service: Object, index: int, asked: int | None, reservation: Reservation) -> int:
        """The node port asked for, or a free one, taken."""
        if asked:
            if problem := self._take_port(asked, reservation):
                path = Path("spec").child("ports").index(index).child("nodePort")
                raise self._refused(service, path, asked, problem)
            return asked
        chosen = self._next_port(reservation)
        if chosen is None:
            raise internal_error("failed to allocate a nodePort: range is full")
        return chosen

    def _reserve_health_check_port(
        self, service: Object, before: set[tuple[_Pool, int]], reservation: Reservation
    ) -> None:
        if not needs_health_check_node_port(service):
            return
        spec = service["spec"]
        asked = spec.get("healthCheckNodePort")
        if not asked:
            chosen = self._next_port(reservation)
            if chosen is None:
                raise internal_error("failed to allocate a HealthCheck NodePort 0: range is full")
            spec["healthCheckNodePort"] = chosen
        elif (self._ports, asked) not in before and (problem := self._take_port(asked, reservation)):
            raise internal_error(f"failed to allocate requested HealthCheck NodePort {asked}: {problem}")

    def _next_port(self, reservation: Reservation) -> int | None:
        if reservation.dry_run:
            highest = reservation.highest(self._ports)
            chosen: int | None = highest + 1 if highest else _DRY_RUN_PORT
        else:
            chosen = self._ports.next()
        if chosen is not None:
            reservation.took(self._ports, chosen)
        return chosen

    def _take_port(self, number: int, reservation: Reservation) -> str:
        """Empty when the port was free, else what is wrong with it. A dry run takes ports out of range."""
        pool = self._ports
        if number not in pool.numbers and not reservation.dry_run:
            span = f"{pool.numbers.start}-{pool.numbers.stop - 1}"
            return f"provided port is not in the valid range. The range of valid ports is {span}"
        if not pool.take(number):
            return "provided port is already allocated"
        reservation.took(pool, number)
        return ""

    @staticmethod
    def _refused(service: Object, path: Path, value: Any, why: str) -> Exception:
        return invalid_object("", "Service", service["metadata"].get("name", ""), [invalid(path, value, why)])


def _shared_port(ports: list[Object], port: Object) -> int | None:
    """The node port that the same port has under another protocol: DNS over TCP and UDP, say."""
    return next(
        (each["nodePort"] for each in ports if each["port"] == port["port"] and each.get("nodePort")), None
    )
