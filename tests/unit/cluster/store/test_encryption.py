"""Secrets on disk: unreadable without the key, bound to their place, rotated at start."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from steersman.cluster.store import Corrupt, SqliteStore, Unusable, ValueCipher

SECRETS = ("/core/secrets/",)
KEY = "/core/secrets/default/s"
OLD, NEW = bytes(range(32)), bytes(range(32, 64))


def sealer(*keys: bytes) -> ValueCipher:
    return ValueCipher(keys, SECRETS)


async def _write(folder: Path, with_sealer: ValueCipher | None, **values: bytes) -> None:
    store = await SqliteStore.open(folder, sealer=with_sealer)
    for name, value in values.items():
        await store.put(f"/core/secrets/default/{name}", value)
        await store.put(f"/core/configmaps/default/{name}", value)
    await store.close()


async def _read(folder: Path, with_sealer: ValueCipher | None) -> bytes:
    store = await SqliteStore.open(folder, sealer=with_sealer)
    record = store.get(KEY)
    await store.close()
    assert record is not None
    return record.value


def on_disk(folder: Path, text: bytes) -> int:
    return sum(file.read_bytes().count(text) for file in folder.iterdir())


def test_only_what_is_to_be_sealed_is_unreadable_on_disk(tmp_path: Path) -> None:
    asyncio.run(_write(tmp_path, sealer(OLD), s=b"hush-hush"))
    assert on_disk(tmp_path, b"hush-hush") == 1
    assert asyncio.run(_read(tmp_path, sealer(OLD))) == b"hush-hush"


@pytest.mark.parametrize("given", [None, sealer(NEW)], ids=["no key", "another key"])
def test_without_the_key_the_store_does_not_open(tmp_path: Path, given: ValueCipher | None) -> None:
    asyncio.run(_write(tmp_path, sealer(OLD), s=b"x"))
    with pytest.raises(Unusable, match="encrypted"):
        asyncio.run(_read(tmp_path, given))


def test_a_new_key_on_top_seals_everything_again(tmp_path: Path) -> None:
    asyncio.run(_write(tmp_path, sealer(OLD), s=b"x"))
    assert asyncio.run(_read(tmp_path, sealer(NEW, OLD))) == b"x"
    assert asyncio.run(_read(tmp_path, sealer(NEW))) == b"x"


def test_a_key_given_later_seals_what_was_plain_and_leaves_no_trace(tmp_path: Path) -> None:
    asyncio.run(_write(tmp_path, None, s=b"hush-hush"))
    assert on_disk(tmp_path, b"hush-hush") >= 2
    assert asyncio.run(_read(tmp_path, sealer(OLD))) == b"hush-hush"
    assert on_disk(tmp_path, b"hush-hush") == 1


def test_a_sealed_value_cannot_be_moved_or_altered(tmp_path: Path) -> None:
    sealed = sealer(OLD).seal(KEY, b"x")
    assert sealer(OLD).open(tmp_path, KEY, sealed) == b"x"
    with pytest.raises(Corrupt):
        sealer(OLD).open(tmp_path, KEY + "2", sealed)
    with pytest.raises(Corrupt):
        sealer(OLD).open(tmp_path, KEY, sealed[:-1] + bytes([sealed[-1] ^ 1]))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it holds no key"),
        ("short\n", "line 1 is not 32 bytes in base64"),
        (base64.b64encode(OLD).decode() + "\nnope!\n", "line 2 is not 32 bytes in base64"),
    ],
)
def test_a_bad_key_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "keys"
    file.write_text(text)
    with pytest.raises(Unusable, match=problem):
        ValueCipher.from_file(file, SECRETS)


def test_a_missing_key_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="No such file"):
        ValueCipher.from_file(tmp_path / "none", SECRETS)
