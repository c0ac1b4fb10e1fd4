"""The replicated state for a program that is no member: it asks the leader, whoever that is.

    async with RaftClient(["web-0.web:7100", "web-1.web:7100"], tls="/etc/raft-tls") as client:
        await client.put("greeting", b"hello")

There is one stream, to the leader; it is looked for when something is to be asked, and again when the stream
breaks, when the node declines because it no longer leads, or when it is silent and somebody else leads in a
later term.

What is known of a request that was not answered:

| it was                                     | then                                                          |
|--------------------------------------------|---------------------------------------------------------------|
| not sent, or declined                      | it is asked again; in the end PeerUnavailable                 |
| sent, a read                               | it is asked again; in the end PeerUnavailable                 |
| sent, a write over a version that is there | it is asked again: it cannot be done twice, since the version |
|                                            | never comes back; if it is then refused, OutcomeUnknown       |
| sent, any other write                      | OutcomeUnknown                                                |

A write over version 0 ("not there") is one of the others: whoever deletes the key brings that state back, and
a copy that comes late would write it again.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from steersman.aio import Backoff, Scope
from steersman.raft.config import NodeConfig
from steersman.raft.errors import (
    NodeError,
    NodeStopped,
    NotAllowed,
    OutcomeUnknown,
    PeerUnavailable,
    SettingsError,
)
from steersman.raft.state_machine import Delete, Located, Put, Value
from steersman.raft.transport.loading import load_grpc
from steersman.raft.transport.requests import (
    Conversation,
    Declined,
    Forbidden,
    Found,
    Read,
    Reply,
    Request,
    Unclear,
    Write,
    Written,
    next_frame,
    size_of,
    too_large,
)
from steersman.raft.transport.tls import TlsFiles

__all__ = ["RaftClient"]

#: A node that takes longer to say hello is passed over for now.
_HELLO_S = 2.0
#: A leader that is silent for so long, though asked, may be none any more.
_SILENCE_S = 1.0
_BACKOFF = Backoff(first_s=0.02, ceiling_s=0.25)

Connect = Callable[[Located, TlsFiles | None], Awaitable[Conversation]]


@dataclass(slots=True, eq=False)
class _Call:
    """What somebody waits for."""

    asked: Put | Delete | str
    future: asyncio.Future[Any]
    #: Whether it is on its way, or its answer is.
    sent: bool = False
    #: Whether it was asked before, and may have been done then.
    doubtful: bool = False

    @property
    def writes(self) -> bool:
        return not isinstance(self.asked, str)

    @property
    def repeatable(self) -> bool:
        """Whether doing it can be tried twice without it being done twice."""
        return isinstance(self.asked, str) or bool(self.asked.over)

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def give_up(self, error: NodeError) -> None:
        """Fail with what prevents an answer; or with more caution, if it may have been done."""
        unknown = self.writes and (self.sent or self.doubtful)
        self.fail(OutcomeUnknown(str(error)) if unknown else error)


class RaftClient:
    """On one event loop; any number of its tasks may ask at the same time."""

    def __init__(
        self,
        addresses: Iterable[str],
        *,
        tls: TlsFiles | Path | str | None = None,
        timeout_s: float = 5.0,
        connect: Connect | None = None,
    ) -> None:
        """`addresses` are nodes, not necessarily all: HOST:PORT, or NAME=HOST:PORT with the name that the
        certificate must show. `tls` is a member's certificate, or the folder where its files are; without, it
        must be the nodes' own machine. Nothing takes longer than `timeout_s`."""
        # As a node's settings say them.
        peers = NodeConfig("client").peers(dict(enumerate(addresses))).settings.peers
        self._addresses = list(peers.values())
        if not self._addresses:
            raise SettingsError("a client needs the address of a node")
        self._tls = tls if tls is None or isinstance(tls, TlsFiles) else TlsFiles.folder(tls)
        self._timeout_s = timeout_s
        self._connect = connect
        self._leader: Located | None = None
        #: Why nobody was found that leads.
        self._trouble = "no node was tried yet"
        #: What is to be sent next; `wake` is set when that, or who sends it, has changed.
        self.waiting: deque[_Call] = deque()
        self.wake = asyncio.Event()
        #: Streams that are to be closed.
        self.exchanges: set[_Exchange] = set()
        self._scope = Scope()
        self._started = False

    async def __aenter__(self) -> Self:
        if self._connect is None:
            load_grpc()
            from steersman.raft.transport.clients import connect

            self._connect = connect
        self._started = True
        self._scope.start(self._run(), name="raft client")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._started = False
        try:
            await self._scope.close()
        finally:
            for exchange in tuple(self.exchanges):  # those whose tasks were cancelled before they began
                await exchange.close()
            for call in self.waiting:
                call.give_up(PeerUnavailable("the client was closed"))
            self.waiting.clear()

    # The replicated state

    async def put(self, key: str, data: bytes, *, over: int | None = None) -> bool:
        """Write when a majority has it. With `over`, only over that version (0: only if it is not there);
        whether it was written."""
        return bool(await self._write(Put(key, data, over)))

    async def delete(self, key: str, *, over: int | None = None) -> bool:
        return bool(await self._write(Delete(key, over)))

    async def get(self, key: str) -> Value | None:
        """The value, as of now or later."""
        found: Value | None = await self._ask(key)
        return found

    async def _write(self, command: Put | Delete) -> Any:
        if why := too_large(command):
            raise NotAllowed(why)
        return await self._ask(command)

    async def _ask(self, asked: Put | Delete | str) -> Any:
        if not self._started:
            raise NodeStopped("the client is not open: use it in `async with`")
        loop = asyncio.get_running_loop()
        call = _Call(asked, loop.create_future())
        self.waiting.append(call)
        self.wake.set()
        timer = loop.call_later(self._timeout_s, self._expire, call)
        try:
            return await call.future
        finally:
            timer.cancel()

    def _expire(self, call: _Call) -> None:
        silent = f"no answer within {self._timeout_s:g} s"
        call.give_up(PeerUnavailable(silent if call.sent else f"{silent}: {self._trouble}"))

    # Whom to ask

    async def _run(self) -> None:
        failures = 0
        while True:
            while not self.waiting:
                self.wake.clear()
                await self.wake.wait()
            found = None
            try:
                found = await self._find()
            except (NotAllowed, SettingsError) as error:
                while self.waiting:
                    self.waiting.popleft().give_up(error)
            if found is not None:
                exchange = _Exchange(self, *found)
                self.exchanges.add(exchange)
                self._scope.start(exchange.run(), name="raft requests")
                await exchange.over.wait()
                if exchange.answered:
                    failures = 0
            failures += 1
            if failures > 1:
                await asyncio.sleep(_BACKOFF.wait_s(failures - 1))

    async def _find(self, *but: Located) -> tuple[Located, Conversation] | None:
        """A stream to whoever leads; None, and `_trouble` says why, if nobody is found. Raises NotAllowed or
        SettingsError if that is so because somebody would not talk to this client."""
        assert self._connect is not None
        asked = set(but)
        candidates = deque([self._leader] if self._leader is not None else [])
        candidates.extend(self._addresses)
        refusal: NotAllowed | SettingsError | None = None
        while candidates:
            at = candidates.popleft()
            if at in asked:
                continue
            asked.add(at)
            try:
                async with asyncio.timeout(_HELLO_S):
                    conversation = await self._connect(at, self._tls)
            except TimeoutError:
                self._trouble = f"{at.name} at {at.address}: no answer within {_HELLO_S:g} s"
                self._postpone(at)
                continue
            except PeerUnavailable as error:
                self._trouble = str(error)
                continue
            except (NotAllowed, SettingsError) as error:
                refusal = error
                continue
            welcome = conversation.welcome
            if welcome.leads:
                self._leader = at
                return at, conversation
            await conversation.close()
            if welcome.leader is not None:
                candidates.appendleft(welcome.leader)
            self._trouble = f"{at.name} at {at.address} is not the leader, and knows of none"
        self._leader = None
        if refusal is not None:
            raise refusal
        return None

    async def leader_but(self, at: Located, term: int) -> Located | None:
        """Somebody else who leads in a later term than that."""
        found = None
        with suppress(NotAllowed, SettingsError):
            found = await self._find(at)
        if found is None:
            return None
        other, conversation = found
        await conversation.close()
        return other if conversation.welcome.term > term else None

    def declined(self, why: str, leader: Located | None) -> None:
        """By the one that led; `leader` may do so now."""
        self._trouble = why
        self._leader = leader

    def _postpone(self, at: Located) -> None:
        """Ask it last, from now on."""
        if at in self._addresses:
            self._addresses.remove(at)
            self._addresses.append(at)


class _Exchange:
    """One stream to one leader, and the calls that were sent on it."""

    def __init__(self, client: RaftClient, at: Located, conversation: Conversation) -> None:
        self._client = client
        self._at = at
        self._conversation = conversation
        self._numbers = itertools.count()
        self._in_flight: dict[int, _Call] = {}
        #: Since when there should have been an answer.
        self._silent_since = 0.0
        self._broken = ""
        #: Set when nothing more is sent here; answers may still come.
        self.over = asyncio.Event()
        #: Whether anything was done here.
        self.answered = False

    async def run(self) -> None:
        try:
            async with Scope() as scope:
                scope.start(self._send(), name="raft requests out")
                ends = (
                    scope.start(self._receive(), name="raft replies in"),
                    scope.start(self._watch(), name="raft silence"),
                )
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._end()
            calls, self._in_flight = self._in_flight, {}
            for call in calls.values():
                self._lose(call, self._broken or "the client was closed")
            await self.close()

    async def close(self) -> None:
        self._client.exchanges.discard(self)
        await self._conversation.close()

    def _end(self) -> None:
        self.over.set()
        self._client.wake.set()

    async def _send(self) -> None:
        waiting, wake = self._client.waiting, self._client.wake
        while not self.over.is_set():
            if not waiting:
                wake.clear()
                await wake.wait()
                continue
            requests = [self._number(call) for call in next_frame(waiting, _size) if not call.future.done()]
            if not requests:
                continue
            try:
                await self._conversation.send(requests)
            except PeerUnavailable:
                return  # whoever receives is told the same

    def _number(self, call: _Call) -> Request:
        number = next(self._numbers)
        if not self._in_flight:
            self._silent_since = time.monotonic()
        self._in_flight[number] = call
        call.sent = True
        return Read(number, call.asked) if isinstance(call.asked, str) else Write(number, call.asked)

    async def _receive(self) -> None:
        """Until the stream breaks, or the last answer came after which nothing is sent."""
        try:
            while self._in_flight or not self.over.is_set():
                for reply in await self._conversation.receive():
                    self._settle(reply)
                self._silent_since = time.monotonic()
        except (PeerUnavailable, NotAllowed) as error:
            self._broken = str(error)

    async def _watch(self) -> None:
        """Until nobody waits for the answers that are missing, or they will not come: the node is silent, and
        another leads in a later term. One that has declined something is known to be no leader, and may
        still tell what became of the rest."""
        while True:
            await asyncio.sleep(_SILENCE_S)
            awaited = any(not call.future.done() for call in self._in_flight.values())
            if self.over.is_set():
                if not awaited:
                    return
            elif awaited and time.monotonic() - self._silent_since >= _SILENCE_S:
                leader = await self._client.leader_but(self._at, self._conversation.welcome.term)
                if leader is not None:
                    self._broken = f"{self._at.name} at {self._at.address} is silent, and {leader.name} leads"
                    return

    def _settle(self, reply: Reply) -> None:
        call = self._in_flight.pop(reply.id, None)
        if call is None or call.future.done():
            return
        call.sent = False
        match reply:
            case Declined(why=why, leader=leader):
                self._client.declined(f"{self._at.name} at {self._at.address}: {why}", leader)
                self._end()
                self._client.waiting.append(call)
            case Unclear(why=why):
                self._lose(call, f"{self._at.name} at {self._at.address}: {why}")
            case Forbidden(why=why):
                call.give_up(NotAllowed(why))
            case Written(held=False) if call.doubtful:
                call.fail(OutcomeUnknown("it was sent twice, and the first may have been applied"))
            case Written(held=held):
                call.future.set_result(held)
                self.answered = True
            case Found(value=value):
                call.future.set_result(value)
                self.answered = True

    def _lose(self, call: _Call, why: str) -> None:
        """There will be no answer."""
        if call.future.done():
            return
        call.sent = False
        if call.repeatable:
            call.doubtful = True
            self._client.waiting.append(call)
            self._client.wake.set()
        else:
            call.fail(OutcomeUnknown(why))


def _size(call: _Call) -> int:
    return 0 if isinstance(call.asked, str) else size_of(call.asked)
