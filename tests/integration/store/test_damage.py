"""Files with flipped bytes or missing ends: told so, or back at a state that was acknowledged."""

from __future__ import annotations

import asyncio
import random
import shutil

import pytest

from steersman.cluster.store import Corrupt, SqliteStore, journal

pytestmark = pytest.mark.slow

DAMAGES = 150


@pytest.fixture(scope="module", params=["running", "closed"])
def original(request, tmp_path_factory):
    """The files of a store as a crash (or a clean end) leaves them, and its state at each revision."""
    live, copy = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("copy") / "data"
    states = {0: []}

    async def fill():
        # Small, so that both files hold data and the log's front is already in the other one.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "_CHECKPOINT_BYTES", 150_000)
            await write_and_copy()

    async def write_and_copy():
        store = await SqliteStore.open(live, history_bytes=120_000)

        def remember(_):
            states[store.revision] = list(store.range("").records)

        store.watch("", 0, remember)
        chance = random.Random(1)
        for n in range(400):
            key = f"/a/b/{chance.randrange(30)}"
            if n % 9 == 8 and store.get(key) is not None:
                await store.delete(key)
            else:
                await store.put(key, chance.randbytes(chance.randrange(5000)))
        if request.param == "running":
            shutil.copytree(live, copy)
            await store.close()
        else:
            await store.close()
            shutil.copytree(live, copy)

    asyncio.run(fill())
    return copy, states


async def state_of(folder):
    store = await SqliteStore.open(folder)
    events = []
    store.watch("", store.compacted, events.extend)
    found = store.revision, list(store.range("").records)
    await store.close()
    return found


def flip(content, chance):
    position = chance.randrange(len(content))
    content[position] ^= 1 << chance.randrange(8)


def cut(content, chance):
    del content[chance.randrange(len(content)) :]


def blank(content, chance):
    position = chance.randrange(len(content)) & ~511
    content[position : position + 512] = bytes(len(content[position : position + 512]))


@pytest.mark.parametrize("damage", [flip, cut, blank], ids=["flipped bit", "cut off", "blanked sector"])
def test_damage_is_told_or_harmless(original, tmp_path, damage):
    copy, states = original
    chance = random.Random(2)
    outcomes = {"corrupt": 0, "recovered": 0}
    for number in range(DAMAGES):
        folder = tmp_path / str(number)
        shutil.copytree(copy, folder)
        file = chance.choice([file for file in sorted(folder.iterdir()) if file.name != "store.lock"])
        content = bytearray(file.read_bytes())
        damage(content, chance)
        file.write_bytes(content)
        try:
            revision, records = asyncio.run(state_of(folder))
        except Corrupt:
            outcomes["corrupt"] += 1
        else:
            assert records == states[revision], f"damage {number} to {file.name} went unseen"
            outcomes["recovered"] += 1
        shutil.rmtree(folder)
    print(outcomes)
    assert outcomes["corrupt"], "no damage was found out"


def test_the_files_are_good_when_nobody_damages_them(original, tmp_path):
    copy, states = original
    shutil.copytree(copy, tmp_path / "data")
    assert asyncio.run(state_of(tmp_path / "data")) == (max(states), states[max(states)])
