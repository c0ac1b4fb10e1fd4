"""What happens to a request: waiting as told, renewing credentials, giving up."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import pytest

from steersman.client import ApiError, Client, ServerError, TooManyRequests, Unauthorized, Unreachable
from steersman.client.credentials import Credentials, FixedFields, bearer
from steersman.http import RawHeaders
from steersman.http.errors import ConnectFailed, Disconnected, HttpError, TimedOut
from steersman.objects.resource_type import ResourceType
from tests.unit.client.conftest import Answer, Script, StoppedClock

PODS = ResourceType("", "v1", "Pod", "pods")
FINE: Answer = (200, {"kind": "Pod"}, {})
BUSY = (429, {"kind": "Status", "code": 429, "reason": "TooManyRequests"}, {"Retry-After": "3"})


def client(script: Script, clock: StoppedClock, credentials: Credentials | None = None) -> Client:
    return Client(script, clock=clock, credentials=credentials)


def refusal(code: int, **headers: str) -> Answer:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return code, {"kind": "Status", "code": code, "message": "no"}, given


class Rotating:
    """Credentials that can be renewed a number of times."""

    def __init__(self, spare: int) -> None:
        self.spare = spare
        self.renewals: list[bool] = []
        self.proof: RawHeaders | None = bearer("t0")

    def current(self) -> RawHeaders | None:
        return self.proof

    async def renew(self, *, rejected: bool = False) -> bool:
        self.renewals.append(rejected)
        if not self.spare:
            return False
        self.spare -= 1
        self.proof = bearer(f"t{len(self.renewals)}")
        return True


def test_a_busy_server_is_waited_for_as_long_as_it_says(clock: StoppedClock) -> None:
    script = Script([BUSY, refusal(429, Retry_After="5"), FINE])
    assert asyncio.run(client(script, clock).get(PODS, "a")) == {"kind": "Pod"}
    assert clock.slept == [3.0, 5.0]


def test_a_busy_server_is_asked_ten_times(clock: StoppedClock) -> None:
    script = Script([BUSY] * 20)
    with pytest.raises(TooManyRequests) as caught:
        asyncio.run(client(script, clock).create({}, kind=PODS))
    assert len(script.sent) == 10
    assert caught.value.retry_after_s == 3.0


@pytest.mark.parametrize(
    ("answer", "method", "tries"),
    [
        (refusal(429), "GET", 1),
        (refusal(429, Retry_After="soon"), "GET", 1),
        (refusal(429, Retry_After="1"), "DELETE", 2),
        (refusal(503, Retry_After="1"), "GET", 2),
        (refusal(504, Retry_After="1"), "GET", 2),
        (refusal(503, Retry_After="1"), "POST", 1),
        (refusal(503), "GET", 1),
        (refusal(409, Retry_After="1"), "POST", 1),
        (refusal(404), "GET", 1),
    ],
    ids=[
        "429 that says nothing",
        "429 with no number",
        "429 of a write",
        "503 of a read",
        "504 of a read",
        "503 of a write",
        "503 that says nothing",
        "409",
        "404",
    ],
)
def test_only_what_may_be_sent_again_is(answer: Answer, method: str, tries: int, clock: StoppedClock) -> None:
    script = Script([answer, FINE])
    with contextlib.suppress(ApiError):
        asyncio.run(client(script, clock).request(method, "/x"))
    assert len(script.sent) == tries


@pytest.mark.parametrize(
    ("error", "maybe_done"),
    [(ConnectFailed("refused"), False), (Disconnected("cut"), True), (TimedOut("late"), True)],
    ids=["no connection", "disconnected", "timed out"],
)
def test_no_answer_is_unreachable(error: HttpError, maybe_done: bool, clock: StoppedClock) -> None:
    with pytest.raises(Unreachable, match=str(error)) as caught:
        asyncio.run(client(Script([error]), clock).get(PODS, "a"))
    assert caught.value.maybe_done is maybe_done
    assert caught.value.__cause__ is error


def test_credentials_are_renewed_once_when_they_are_refused(clock: StoppedClock) -> None:
    credentials = Rotating(spare=1)
    script = Script([refusal(401), FINE])
    asyncio.run(client(script, clock, credentials).get(PODS, "a"))
    assert [sent.headers["authorization"] for sent in script.sent] == ["Bearer t0", "Bearer t1"]
    assert credentials.renewals == [True]


def test_credentials_that_are_refused_twice_are_an_error(clock: StoppedClock) -> None:
    credentials = Rotating(spare=9)
    with pytest.raises(Unauthorized):
        asyncio.run(client(Script([refusal(401)] * 3), clock, credentials).get(PODS, "a"))
    assert credentials.renewals == [True]


def test_credentials_that_cannot_be_renewed_are_not_sent_again(clock: StoppedClock) -> None:
    script = Script([refusal(401), FINE])
    with pytest.raises(Unauthorized):
        asyncio.run(client(script, clock, FixedFields(bearer("t"))).get(PODS, "a"))
    assert len(script.sent) == 1


def test_credentials_that_somebody_else_has_renewed_are_used(clock: StoppedClock) -> None:
    credentials = Rotating(spare=0)

    class Overtaken(Script):
        async def request(self, *args: Any, **options: Any) -> Any:
            answer = await super().request(*args, **options)
            credentials.proof = bearer("new")
            return answer

    script = Overtaken([refusal(401), FINE])
    asyncio.run(client(script, clock, credentials).get(PODS, "a"))
    assert script.sent[1].headers["authorization"] == "Bearer new"
    assert credentials.renewals == []


def test_credentials_are_fetched_before_the_first_request(clock: StoppedClock) -> None:
    credentials = Rotating(spare=1)
    credentials.proof = None
    script = Script([FINE])
    asyncio.run(client(script, clock, credentials).get(PODS, "a"))
    assert script.sent[0].headers["authorization"] == "Bearer t1"
    assert credentials.renewals == [False]


def test_a_watch_waits_and_renews_like_any_request(clock: StoppedClock) -> None:
    credentials = Rotating(spare=1)
    line = b'{"type":"ADDED","object":{"kind":"Pod"}}\n'
    script = Script([BUSY, refusal(401), (200, line, {})])

    async def main() -> list[str]:
        async with client(script, clock, credentials).watch(PODS) as events:
            return [event.type async for event in events]

    assert asyncio.run(main()) == ["ADDED"]
    assert clock.slept == [3.0]
    assert credentials.renewals == [True]


def test_a_refused_watch_raises_before_its_first_event(clock: StoppedClock) -> None:
    async def main() -> None:
        async with client(Script([refusal(500)]), clock).watch(PODS):
            raise AssertionError("the watch is not open")

    with pytest.raises(ServerError, match="no"):
        asyncio.run(main())


def test_every_answer_is_observed(clock: StoppedClock) -> None:
    seen: list[tuple[str, str]] = []
    script = Script([BUSY, FINE, refusal(404), ConnectFailed("x")])
    made = Client(script, clock=clock, observe=lambda method, code: seen.append((method, code)))

    async def main() -> None:
        await made.get(PODS, "a")
        assert await made.find(PODS, "b") is None
        with pytest.raises(Unreachable):
            await made.delete(PODS, "a")

    asyncio.run(main())
    assert seen == [("GET", "429"), ("GET", "200"), ("GET", "404"), ("DELETE", "<error>")]


def test_an_observer_can_come_later(clock: StoppedClock) -> None:
    seen: list[tuple[str, str]] = []
    made = client(Script([FINE]), clock)
    made.observe_requests(lambda method, code: seen.append((method, code)))
    asyncio.run(made.get(PODS, "a"))
    assert seen == [("GET", "200")]


def test_observers_do_not_disturb_each_other(clock: StoppedClock) -> None:
    first: list[str] = []
    second: list[str] = []
    made = Client(Script([FINE, refusal(404)]), clock=clock, observe=lambda method, code: first.append(code))
    end = made.observe_requests(lambda method, code: second.append(code))

    async def main() -> None:
        await made.get(PODS, "a")
        end()
        assert await made.find(PODS, "b") is None

    asyncio.run(main())
    assert (first, second) == (["200", "404"], ["200"])


def test_warnings_of_the_api_are_logged(clock: StoppedClock, caplog: pytest.LogCaptureFixture) -> None:
    script = Script([(201, {}, {"Warning": '299 - "this is \\"old\\""'})])
    with caplog.at_level(logging.WARNING):
        asyncio.run(client(script, clock).create({}, kind=PODS))
    assert caplog.messages == ['the API warns: this is "old"']


def test_warnings_can_be_ignored(clock: StoppedClock, caplog: pytest.LogCaptureFixture) -> None:
    made = client(Script([(201, {}, {"Warning": '299 - "old"'})]), clock)
    made.ignore_warnings()
    with caplog.at_level(logging.WARNING):
        asyncio.run(made.create({}, kind=PODS))
    assert not caplog.messages


def test_header_fields_are_made_once(clock: StoppedClock) -> None:
    """The HTTP client encodes tuples that it has seen without looking at them again."""
    seen: list[RawHeaders] = []

    class Watching(Script):
        async def request(self, *args: Any, **options: Any) -> Any:
            seen.append(options["headers"])
            return await super().request(*args, **options)

    made = client(Watching([FINE] * 2), clock, FixedFields(bearer("t")))

    async def main() -> None:
        await made.get(PODS, "a")
        await made.get(PODS, "b")

    asyncio.run(main())
    assert seen[0] is seen[1]
