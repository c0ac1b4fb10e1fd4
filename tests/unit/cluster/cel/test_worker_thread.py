"""Work beside the loop that has to ask it something: from a thread, and where the loop works by itself."""

from __future__ import annotations

import asyncio
import threading

import pytest

from steersman.cluster.cel.worker_thread import in_worker_thread, on_loop
from steersman.testing.virtual import run_virtual


async def asked() -> tuple[str, str]:
    """The threads of the work and of what it asked the loop for."""

    def name() -> str:
        return threading.current_thread().name

    return await in_worker_thread(lambda: (name(), on_loop(name)))


def test_a_thread_has_the_loop_answer() -> None:
    work, answer = asyncio.run(asked())
    assert work.startswith("cel")
    assert answer == threading.current_thread().name


@pytest.mark.timeout(10)
def test_a_loop_that_works_by_itself_does_not_wait_for_itself() -> None:
    work, answer = run_virtual(asked())
    assert work == answer == threading.current_thread().name
