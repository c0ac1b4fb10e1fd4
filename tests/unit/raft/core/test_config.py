"""Settings that would not be safe are refused."""

from __future__ import annotations

import pytest

from steersman.raft.core import Config, ConfigError


def test_defaults_are_those_that_were_designed() -> None:
    config = Config(id=1)
    assert (config.heartbeat_s, config.lease_s, config.election_min_s, config.election_max_s) == (
        0.04, 0.16, 0.2, 0.4,
    )  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"id": 0}, id="nobody"),
        pytest.param({"lease_s": 0.2}, id="a-lease-as-long-as-the-election-timeout"),
        pytest.param({"election_max_s": 0.2}, id="no-room-for-chance"),
        pytest.param({"heartbeat_s": 0.1}, id="one-late-answer-ends-the-lease"),
        pytest.param({"heartbeat_s": 0.0}, id="heartbeats-without-a-pause"),
        pytest.param({"max_append_bytes": 0}, id="no-room-for-an-entry"),
    ],
)
def test_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Config(**{"id": 1, **settings})  # type: ignore[arg-type]
