"""The rules of a SPDY connection: streams, their ends, and the windows of those who keep them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.http.spdy.errors import SpdyClosed, SpdyViolation
from steersman.http.spdy.frames import (
    Data,
    Frame,
    FrameDecoder,
    FrameEncoder,
    Ping,
    ResetStatus,
    RstStream,
    Settings,
    SynStream,
    WindowUpdate,
)
from steersman.http.spdy.session import (
    STREAM_WINDOW_BYTES,
    DataCame,
    Ended,
    Event,
    Opened,
    Replied,
    SpdySession,
    WasReset,
    WindowGrew,
)


class Peer:
    """Somebody who speaks in frames of their own choice."""

    def __init__(self, session: SpdySession) -> None:
        self._session = session
        self._encoder = FrameEncoder()
        self._decoder = FrameDecoder()
        self.heard()

    def say(self, *frames: Frame) -> list[Event]:
        data = b"".join(self._encoder.encode(frame) for frame in frames)
        return list(self._session.receive(data))

    def heard(self) -> list[Frame]:
        return list(self._decoder.feed(self._session.take()))


@pytest.fixture
def server() -> SpdySession:
    return SpdySession(server=True)


@pytest.fixture
def peer(server: SpdySession) -> Peer:
    return Peer(server)


def joined() -> tuple[SpdySession, SpdySession]:
    """Two ends that have told each other their windows."""
    client, server = SpdySession(server=False), SpdySession(server=True)
    list(server.receive(client.take()))
    list(client.receive(server.take()))
    return client, server


def test_a_stream_is_opened_answered_and_closed_from_both_sides() -> None:
    client, server = joined()
    number = client.open({"streamtype": "data"})
    assert list(server.receive(client.take())) == [Opened(1, {"streamtype": "data"})]
    server.reply(number)
    assert list(client.receive(server.take())) == [Replied(1)]
    client.send(number, b"ping")
    client.end(number)
    assert list(server.receive(client.take())) == [DataCame(1, b"ping"), Ended(1)]
    server.send(number, b"pong")
    server.end(number)
    assert list(client.receive(server.take())) == [DataCame(1, b"pong"), Ended(1)]
    for end in (client, server):
        with pytest.raises(SpdyClosed):
            end.sendable(number)


@given(st.lists(st.integers(1, 200_000), max_size=12))
def test_a_peer_that_keeps_windows_is_never_sent_more_than_it_has_room_for(sizes: list[int]) -> None:
    client, server = joined()
    number = client.open({})
    list(server.receive(client.take()))
    waiting = arrived = 0
    for size in sizes:
        sent = min(size, client.sendable(number))
        client.send(number, bytes(sent))
        for event in server.receive(client.take()):
            assert isinstance(event, DataCame)
            waiting += len(event.data)
        assert waiting <= STREAM_WINDOW_BYTES
        arrived += sent
        if size % 2:
            server.consumed(number, waiting)
            waiting = 0
            list(client.receive(server.take()))
    server.consumed(number, waiting)
    list(client.receive(server.take()))
    assert client.sendable(number) > STREAM_WINDOW_BYTES // 2 - 1


def test_a_peer_that_knows_no_windows_is_sent_everything(server: SpdySession, peer: Peer) -> None:
    peer.say(SynStream(1))
    for _ in range(100):
        server.send(1, bytes(32 << 10))
    assert sum(len(frame.data) for frame in peer.heard() if isinstance(frame, Data)) == 100 * (32 << 10)


def test_the_connections_window_binds_all_streams(server: SpdySession, peer: Peer) -> None:
    peer.say(SynStream(1), SynStream(3), Settings({7: 1 << 20}))
    assert server.sendable(1) == 64 << 10
    server.send(1, bytes(64 << 10))
    assert server.sendable(3) == 0
    assert peer.say(WindowUpdate(0, 1000)) == [WindowGrew(0)]
    assert server.sendable(3) == 1000
    with pytest.raises(ValueError, match="room"):
        server.send(3, bytes(1001))


def test_a_smaller_window_may_leave_less_than_nothing(server: SpdySession, peer: Peer) -> None:
    peer.say(SynStream(1), WindowUpdate(0, 1 << 20))
    server.send(1, bytes(64 << 10))
    peer.say(Settings({7: 1000}))
    assert server.sendable(1) == 0
    peer.say(WindowUpdate(1, 64 << 10))
    assert server.sendable(1) == 1000


def test_data_on_a_stream_that_was_given_up_is_credited_and_dropped(server: SpdySession, peer: Peer) -> None:
    peer.say(SynStream(1))
    server.reset(1, ResetStatus.CANCEL)
    assert peer.heard() == [RstStream(1, 5)]
    assert peer.say(*(Data(1, bytes(1 << 20)) for _ in range(2))) == []
    assert peer.heard() == [WindowUpdate(0, 2 << 20)]


def test_a_reset_ends_a_stream_at_once(server: SpdySession, peer: Peer) -> None:
    peer.say(SynStream(1))
    assert peer.say(RstStream(1, 5), RstStream(1, 5)) == [WasReset(1, 5)]
    with pytest.raises(SpdyClosed):
        server.sendable(1)
    server.end(1)
    server.reply(1)
    assert peer.heard() == []


def test_pings_are_answered_and_answers_are_not(peer: Peer) -> None:
    peer.say(Ping(1), Ping(2))
    assert peer.heard() == [Ping(1)]


def test_too_many_streams_are_refused(peer: Peer) -> None:
    events = peer.say(*(SynStream(2 * index + 1) for index in range(1025)))
    assert len(events) == 1024
    assert peer.heard() == [RstStream(2049, 3)]


@pytest.mark.parametrize(
    "frames",
    [
        [SynStream(2)],
        [SynStream(3), SynStream(1)],
        [SynStream(1), SynStream(1)],
        [WindowUpdate(0, 0x7FFF_FFFF)],
    ],
    ids=["ours", "backwards", "twice", "window"],
)
def test_violations_end_the_connection(peer: Peer, frames: list[Frame]) -> None:
    with pytest.raises(SpdyViolation):
        peer.say(*frames)
