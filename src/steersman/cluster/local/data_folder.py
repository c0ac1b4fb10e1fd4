"""A cluster's folder: which of its parts may be missing, and which are missed.

Nothing that is missing is made anew if something that is there relies on it: an empty cluster, or new keys,
under an old name would look like a cluster that has lost its objects, or refuses its users.

| missing                             | beside                       | what happens                |
|-------------------------------------|------------------------------|-----------------------------|
| everything                          | –                            | the first start             |
| `store/store.db`                    | files that every start makes | refused                     |
| `store/store.db-wal`, after a crash | `store/store.db`             | refused, by the store       |
| `ca.*` or `service-account.key`     | a store that has objects     | refused, but for `new_keys` |
| `ca.key`                            | `ca.crt`, of a first start   | refused, by `auth.pki`      |
| any of these keys                   | a store that has none        | an interrupted first start  |
| certificates of servers and nodes   | whatever                     | made anew: no client keeps them |
| `front-proxy/`                      | whatever                     | made anew, and published    |
| `admin.token`, `kubeconfig`         | whatever                     | made anew                   |
| `ranges.json`                       | a store that has Services    | the range of their addresses |
| `nodes/`, `volumes/`                | whatever                     | containers start anew       |

What is there and damaged is refused by the code that reads it, and left as it is.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

import orjson

from steersman.cluster.machine.folders import state_folder
from steersman.cluster.machine.ranges import LOOPBACK, ROUTED, Ranges
from steersman.cluster.store import Store
from steersman.cluster.store.journal import FILE

__all__ = ["PartMissing", "check_keys", "check_store", "default_data_folder", "ranges_of", "store_folder"]

#: What every start makes in the folder, once the store is there, and users never put there.
_OF_A_START: Final = ("apiserver.crt", "apiserver.key")
_CERTIFICATE: Final = "ca.crt"
_KEYS: Final = (_CERTIFICATE, "ca.key", "service-account.key")
#: The API's own Service, which is there as soon as anything is.
_SERVICE: Final = "/core/services/default/kubernetes"


class PartMissing(Exception):
    """A part of the folder is gone that others rely on; the message says which and how to go on."""


def default_data_folder() -> Path:
    """The data folder of a cluster unless another one is given."""
    return state_folder() / "cluster"


def store_folder(folder: Path) -> Path:
    return folder / "store"


def check_store(folder: Path) -> None:
    """Before the store is opened, which makes one if there is none. Raises `PartMissing`."""
    file = store_folder(folder) / FILE
    if not file.exists() and (left := [name for name in _OF_A_START if (folder / name).exists()]):
        raise PartMissing(
            f"{file} is missing, but {folder} contains the data of a cluster ({left[0]} exists): "
            "restore the file, or move the folder away to start with an empty cluster"
        )


def check_keys(folder: Path, *, new_keys: bool) -> None:
    """Before keys are opened that are to go with objects in the store. Raises `PartMissing`."""
    missing = [name for name in _KEYS if not (folder / name).exists()]
    if missing and not new_keys:
        raise PartMissing(
            f"{folder / missing[0]} is missing, and the stored objects depend on it: restore the file, or "
            "generate it again with --new-keys: existing certificates and tokens then become invalid"
        )
    if missing and missing != [_KEYS[-1]]:
        # Half an authority is none.
        (folder / _CERTIFICATE).unlink(missing_ok=True)


def ranges_of(store: Store) -> Ranges | None:
    """The usual ranges that the addresses of the stored Services are of, if there are any."""
    record = store.get(_SERVICE)
    if record is None:
        return None
    try:
        address = IPv4Address(orjson.loads(record.value)["spec"]["clusterIP"])
    except ValueError:  # of the other family
        return None
    return next((ranges for ranges in (*ROUTED, *LOOPBACK) if address in ranges.services), None)
