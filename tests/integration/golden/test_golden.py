"""Recorded conversations with a real kube-apiserver, replayed: the answers are the same."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.recordings.conversation import differences, names
from tests.support.steer import Steer, running
from tests.support.waiting import pass_time_blocking

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Steer]:
    """A server set up like the one that was recorded."""
    with running(
        "--controllers", "none", "--disable-admission", "ServiceAccount", "--service-cidr", "10.0.0.0/24"
    ) as steer:  # fmt: skip
        yield steer


@pytest.mark.parametrize("conversation", names())
def test_answers_are_those_of_kubernetes(server: Steer, conversation: str) -> None:
    # Owners of fields are listed by the second of their last change: recorded were some of one second.
    pass_time_blocking(1 - time.time() % 1, "a second begins")
    assert list(differences(conversation, server.announced["server"], server.api.token)) == []
