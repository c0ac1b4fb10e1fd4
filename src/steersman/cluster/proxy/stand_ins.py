"""Alternative ports for Services whose low ports (below 1024) this process may not listen on.

| client           | how it finds the port                                                               |
|------------------|-------------------------------------------------------------------------------------|
| people, programs | an annotation of the Service (`objects.stand_ins`), an event                        |
| pods             | not at all: the keeper leads their connections there, by the list that is kept here |

Where the proxy may listen on all ports, there are no stand-ins, and annotations of an earlier proxy are
removed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from steersman.client import Client, ClientError, Conflict, ServerError, TooManyRequests, Unreachable
from steersman.cluster.proxy.frontends import Frontend
from steersman.objects.kinds.types.core_v1 import Service
from steersman.objects.labels import annotations_of
from steersman.objects.resources import SERVICES
from steersman.objects.stand_ins import STAND_IN_PORTS, chosen_stand_ins, stand_ins_text
from steersman.runtime import Key

__all__ = ["StandInList", "announce", "is_announced", "stand_ins_of"]

_log = logging.getLogger(__name__)


_MANAGER: Final = "steersman-proxy"
#: What may be over when it is tried again.
_PASSING: Final = (Conflict, ServerError, TooManyRequests, Unreachable)


def stand_ins_of(service: Service, first_free: int) -> dict[int, int]:
    ports = (port["port"] for port in service["spec"].get("ports") or ())
    return chosen_stand_ins(ports, first_free)


def is_announced(service: Service, stand_ins: Mapping[int, int]) -> bool:
    said = annotations_of(service).get(STAND_IN_PORTS) or ""
    return bool(said == stand_ins_text(stand_ins))


async def announce(client: Client, service: Service, stand_ins: Mapping[int, int]) -> bool:
    """Note a service's stand-ins on it, whoever else has said something there. False if that should be tried
    again."""
    key, uid = Key.of(service), service["metadata"]["uid"]
    try:
        if stand_ins:
            annotations = {STAND_IN_PORTS: stand_ins_text(stand_ins)}
            metadata = {"name": key.name, "namespace": key.namespace, "uid": uid, "annotations": annotations}
            body = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
            await client.apply(body, field_manager=_MANAGER, force=True, kind=SERVICES)
        else:
            gone = {"metadata": {"uid": uid, "annotations": {STAND_IN_PORTS: None}}}
            await client.patch(SERVICES, key.name, gone, key.namespace)
    except _PASSING as error:
        _log.info("cannot annotate service %s with its stand-in ports, trying again: %s", key, error)
        return False
    except ClientError as error:
        _log.warning("cannot annotate service %s with its stand-in ports: %s", key, error)
    return True


#: Protocol, port, and where it answers.
_Entry = tuple[str, int, int]


class StandInList:
    """The list that keepers read (`keeper.redirection`): a folder with a file for each address, replaced
    atomically, protocol → port → alternative port. A change costs what it changes, however many Services
    there are.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._of_services: dict[Key, dict[str, list[_Entry]]] = {}
        #: Several services may share an address.
        self._of_addresses: dict[str, dict[Key, list[_Entry]]] = {}
        #: Addresses, in this order.
        self._unwritten: dict[str, None] = {}
        self._takes_back = False

    def set(self, key: Key, frontends: Iterable[Frontend], stand_ins: Mapping[int, int]) -> None:
        """What a service has now; `frontends` are at the stand-ins."""
        ports = {other: port for port, other in stand_ins.items()}
        found: dict[str, list[_Entry]] = {}
        for each in sorted(frontends):
            if each.port in ports:
                found.setdefault(each.address, []).append((each.protocol, ports[each.port], each.port))
        before = self._of_services.pop(key, {})
        if found:
            self._of_services[key] = found
        for address in before.keys() | found.keys():
            if before.get(address) != found.get(address):
                self._unwritten[address] = None
                services = self._of_addresses.setdefault(address, {})
                services.pop(key, None)
                if address in found:
                    services[key] = found[address]
                if not services:
                    del self._of_addresses[address]

    def write(self) -> None:
        """What has changed. Raises `OSError`; what could not be written is tried again the next time."""
        if self._folder is None or not (self._unwritten or self._takes_back):
            return
        if self._takes_back and self._folder.is_dir():
            names = (file.name for file in self._folder.iterdir())
            self._unwritten |= dict.fromkeys(name for name in names if name not in self._of_addresses)
        self._takes_back = False
        while self._unwritten:
            self._folder.mkdir(exist_ok=True)
            address = next(iter(self._unwritten))
            # If it fails, it is the last one that is tried again.
            del self._unwritten[address]
            try:
                self._write(self._folder, address)
            except OSError:
                self._unwritten[address] = None
                raise

    def take_back_others(self) -> None:
        """All services are known: the next `write` takes back what an earlier proxy has said of addresses
        that none of them has."""
        self._takes_back = True

    def _write(self, folder: Path, address: str) -> None:
        services = self._of_addresses.get(address)
        if services is None:
            (folder / address).unlink(missing_ok=True)
            return
        said: dict[str, dict[int, int]] = {}
        for entries in services.values():
            for protocol, port, other in entries:
                said.setdefault(protocol, {})[port] = other
        fresh = folder / f".{address}"
        fresh.write_text(json.dumps(said))
        fresh.replace(folder / address)
