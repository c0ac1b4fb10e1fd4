"""Has services without a right to their low ports answer at others, and says so.

| who asks         | how they find out                                                                   |
|------------------|-------------------------------------------------------------------------------------|
| people, programs | an annotation of the Service (`objects.stand_ins`), an event                        |
| pods             | not at all: the keeper leads their connections there, by the list that is kept here |

Where the proxy may listen everywhere, there are no stand-ins, and what an earlier one said is taken back.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from steersman.client import Client, ClientError, Conflict, ServerError, TooManyRequests, Unreachable
from steersman.cluster.proxy.frontends import Frontend
from steersman.objects.resources import SERVICES
from steersman.objects.stand_ins import STAND_IN_PORTS, chosen_stand_ins, stand_ins_text
from steersman.runtime import Key

__all__ = ["StandInList", "announce", "is_announced", "stand_ins_of"]

_log = logging.getLogger(__name__)

Object = Mapping[str, Any]

_MANAGER: Final = "steersman-proxy"
#: What may be over when it is tried again.
_PASSING: Final = (Conflict, ServerError, TooManyRequests, Unreachable)


def stand_ins_of(service: Object, first_free: int) -> dict[int, int]:
    ports = (port["port"] for port in service["spec"].get("ports") or ())
    return chosen_stand_ins(ports, first_free)


def is_announced(service: Object, stand_ins: Mapping[int, int]) -> bool:
    said = (service["metadata"].get("annotations") or {}).get(STAND_IN_PORTS) or ""
    return bool(said == stand_ins_text(stand_ins))


async def announce(client: Client, service: Object, stand_ins: Mapping[int, int]) -> bool:
    """Note a service's stand-ins on it. False if that should be tried again."""
    key = Key.of(service)
    annotations = {STAND_IN_PORTS: stand_ins_text(stand_ins)} if stand_ins else {}
    metadata = {"name": key.name, "namespace": key.namespace, "uid": service["metadata"]["uid"]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {**metadata, "annotations": annotations}}
    try:
        await client.apply(body, field_manager=_MANAGER, force=True, kind=SERVICES)
    except _PASSING as error:
        _log.info("the service %s does not say yet which ports stand in: %s", key, error)
        return False
    except ClientError as error:
        _log.warning("the service %s does not say which ports stand in: %s", key, error)
    return True


class StandInList:
    """What keepers read (`keeper.redirection`), in a file that is always whole: address → protocol → port →
    where it answers."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._entries: dict[Key, list[tuple[Frontend, int]]] = {}
        self._is_written = False

    def set(self, key: Key, frontends: Iterable[Frontend], stand_ins: Mapping[int, int]) -> None:
        """What a service has now; `frontends` are at the stand-ins."""
        ports = {other: port for port, other in stand_ins.items()}
        entries = [(each, ports[each.port]) for each in frontends if each.port in ports]
        if entries != self._entries.get(key, []):
            self._is_written = False
            self._entries[key] = entries
            if not entries:
                del self._entries[key]

    def write(self) -> None:
        """If anything has changed."""
        if self._path is None or self._is_written:
            return
        found: dict[str, dict[str, dict[int, int]]] = {}
        for entries in self._entries.values():
            for frontend, port in entries:
                ports = found.setdefault(frontend.address, {}).setdefault(frontend.protocol, {})
                ports[port] = frontend.port
        fresh = self._path.with_name(f".{self._path.name}.new")
        fresh.write_text(json.dumps(found))
        os.replace(fresh, self._path)
        self._is_written = True
