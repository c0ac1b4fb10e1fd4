from __future__ import annotations

import gc
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.cluster.store.interface import Record
from steersman.cluster.store.tables import Tables, table_of

TEXTS = st.text("/ab\U0010ffff", max_size=8)


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("", ""),
        ("/", ""),
        ("a", ""),
        ("/core", ""),
        ("/core/", ""),
        ("/core/configmaps", ""),
        ("/core/configmaps/", "/core/configmaps/"),
        ("/core/configmaps/default/a", "/core/configmaps/"),
        ("/core/nodes/a", "/core/nodes/"),
        ("a/b/c", ""),
        ("a/b/c/d", "a/b/c/"),
        ("///", "///"),
    ],
)
def test_a_table_is_the_first_two_segments(text, table):
    assert table_of(text) == table


@given(prefix=TEXTS, rest=TEXTS)
def test_a_prefix_that_names_a_table_names_that_of_all_its_keys(prefix, rest):
    if table_of(prefix):
        assert table_of(prefix + rest) == table_of(prefix)


@given(
    st.lists(st.tuples(TEXTS.filter(bool), st.booleans(), st.none() | st.tuples(TEXTS, TEXTS)), max_size=40)
)
def test_slices_are_right_after_any_history_of_touches(steps):
    records: dict[str, Record] = {}
    tables = Tables(records)
    for revision, (key, alive, look) in enumerate(steps):
        if alive:
            records[key] = Record(key, b"", revision, revision)
        else:
            records.pop(key, None)
        tables.touch(key)
        if look is not None:
            prefix, after = look
            found, low, high = tables.slice(prefix, after)
            wanted = sorted(key for key in records if key.startswith(prefix) and key > after)
            assert found[low:high] == [records[key] for key in wanted]


def test_few_touches_in_a_large_table_are_repaired_in_place():
    records = {f"/a/b/{n:04}": Record(f"/a/b/{n:04}", b"", 1, 1) for n in range(1000)}
    tables = Tables(records)
    for key in records:
        tables.touch(key)
    tables.slice("/a/b/")
    records["/a/b/0500"] = Record("/a/b/0500", b"new", 2, 1)
    records["/a/b/0500x"] = Record("/a/b/0500x", b"new", 3, 3)
    del records["/a/b/0000"], records["/a/b/0999"]
    for key in ("/a/b/0500", "/a/b/0500x", "/a/b/0000", "/a/b/0999", "/a/b/never"):
        tables.touch(key)
    found, low, high = tables.slice("/a/b/")
    assert found[low:high] == [records[key] for key in sorted(records)]


def test_records_that_nobody_reads_are_let_go_of():
    records: dict[str, Record] = {}
    tables = Tables(records)
    old = bytes(bytearray(b"old"))
    unused = sys.getrefcount(old)
    for n in range(1000):
        records[f"/a/b/{n}"] = Record(f"/a/b/{n}", old, n, n)
        tables.touch(f"/a/b/{n}")
    tables.slice("/a/b/")
    for n in range(1000):
        records[f"/a/b/{n}"] = Record(f"/a/b/{n}", b"new", 1000 + n, n)
        tables.touch(f"/a/b/{n}")
    assert sys.getrefcount(old) == unused


def test_what_is_remembered_of_keys_that_come_and_go_is_bounded():
    records: dict[str, Record] = {}
    tables = Tables(records)
    rand = random.Random(7)
    for n in range(20_000):
        records[f"/a/b/{n}"] = Record(f"/a/b/{n}", b"", n, n)
        tables.touch(f"/a/b/{n}")
        if len(records) > 100:
            gone = rand.choice(list(records))
            del records[gone]
            tables.touch(gone)
    kept = [obj for obj in gc.get_objects() if isinstance(obj, set) and "/a/b/19999" in obj]
    assert all(len(touched) < 2_000 for touched in kept)
    found, low, high = tables.slice("/a/b/")
    assert found[low:high] == [records[key] for key in sorted(records)]
