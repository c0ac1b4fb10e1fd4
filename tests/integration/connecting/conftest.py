"""One cluster with a node that talks, for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.streaming_node import StreamingWorld


@pytest.fixture(scope="package")
def world() -> Iterator[StreamingWorld]:
    with StreamingWorld() as world:
        yield world
