"""How a cache follows the API: the decisions, without the doing.

`Reflector.step(event, now)` takes what happened and returns what to do; the follower does it. Exactly one
request is under way at any time: commands that start one (`Wait`, `List`, `Watch`) end the one before.

Theory of operation. The content is fetched as a stream of initial events (WatchList), which servers
without it refuse and then get paged lists. From there on a watch brings the changes, resumed where it
ended, until the server has forgotten that revision or has another history.

| phase     | what happens                                  | what is done                       | then      |
|-----------|-----------------------------------------------|------------------------------------|-----------|
| waiting   | time is up                                    | what was put off                   |           |
| streaming | object                                        | Hold                               |           |
|           | bookmark "initial-events-end"                 | Commit                             | watching  |
|           | refused, ends early, nothing for 30 s         | from now on lists                  | listing   |
|           | connection lost, 410, 429                     | Discard                            | streaming |
| listing   | page                                          | Hold, List of the next             |           |
|           | last page                                     | Hold, Commit, Watch                | watching  |
|           | 410, 400, 422 (continue token too old or bad) | Discard, List of all in one |           |
|           | any other failure                             | List of the same page              |           |
| watching  | object                                        | Apply                              |           |
|           | bookmark                                      | Progress                           |           |
|           | ends, connection lost, 5xx, silence           | Watch from the last version        |           |
|           | 410, 400, 422, silence twice in a row         | Discard                            | streaming |
|           | a version from before the watch's beginning   | Discard: another history           | streaming |
| any       | 401, 403                                      | again, for ever                    |           |
|           | 404 (no such resource)                        | Clear                              | streaming |

A watch or answer that worked and then ended is followed up at once; after that, and after refusals, waits
double from 0.8 s to 30 s, each up to twice as long by chance, until a watch has lived for 30 s.

A lasting connection is one within a process, which cannot break unnoticed: lists and watches, each for a
day, without bookmarks and without looking for silence. When the watch has ended all is listed anew, which
costs less than being told every minute that nothing happened.

Silence: servers that send bookmarks do so each minute, so after two and a half without anything the
connection is dead. Where none was ever seen, a watch is dead when it outlives the end the server gave it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from steersman.aio import Backoff
from steersman.runtime.cached import OPAQUE, number

__all__ = [
    "UNREACHABLE",
    "Apply",
    "Clear",
    "Command",
    "Commit",
    "Discard",
    "Ended",
    "Event",
    "Failed",
    "Hold",
    "List",
    "Listed",
    "Opened",
    "Phase",
    "Progress",
    "Received",
    "Reflector",
    "Report",
    "Request",
    "Silent",
    "Started",
    "Wait",
    "Waited",
    "Watch",
]

PAGE_SIZE = 500
#: The `code` of a failure that brought no answer.
UNREACHABLE = 0
#: A watch lives this long, up to twice as long by chance.
_WATCH_S = 300.0
_LASTING_WATCH_S = 86_400.0
_BACKOFF = Backoff(first_s=0.8, ceiling_s=30.0, factor=2.0, jitter=0.0)
#: Failures after which waits grow to less. A server that is away is not spared by waiting, but who follows it
#: is blind until then; a definition that is not there may be made at any moment.
_CEILINGS_S = {UNREACHABLE: 2.0, 404: 10.0}
_RETRY_AFTER_CEILING_S = 300.0
#: A watch that lived this long was no failure.
_HEALTHY_S = 30.0
_SILENCE_S = 150.0
_STREAM_SILENCE_S = 30.0
#: How much later than it said the server may end a watch.
_OVERTIME_S = 30.0
#: Failures in a row until somebody should know; until then it is the ordinary life of a connection.
_WORTH_REPORTING = 3

_NOT_ABOUT_STREAMING = frozenset((UNREACHABLE, 401, 403, 404, 410, 429))
_NOT_RESUMABLE = frozenset((400, 410, 422))
_REFUSED = frozenset((401, 403, 404, 429))


# --- events: what happened


@dataclass(frozen=True, slots=True)
class Started:
    """Nothing yet; begin."""


@dataclass(frozen=True, slots=True)
class Waited:
    """The time asked for has passed."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A page came."""

    version: str
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """The watch was accepted."""


class Received(NamedTuple):
    """The watch brought an object or a bookmark."""

    version: str
    bookmark: bool = False
    deleted: bool = False
    initial_end: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """The server ended the watch."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A request was refused (or broke: UNREACHABLE), or the watch brought an error."""

    code: int
    message: str = ""
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing came until `Reflector.deadline`."""


Event = Started | Waited | Listed | Opened | Received | Ended | Failed | Silent


# --- commands: what to do


@dataclass(frozen=True, slots=True)
class Wait:
    """Say `Waited` after this time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class List:
    """Get a page (all at once if `limit` is 0); say `Listed` or `Failed`."""

    continue_token: str = ""
    limit: int = PAGE_SIZE


@dataclass(frozen=True, slots=True)
class Watch:
    """Watch from a version, or with all there is first; say `Opened`, `Received`…, `Ended` or `Failed`."""

    version: str
    initial_events: bool
    timeout_s: int
    bookmarks: bool = True


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep what just came aside: it is part of the content to come (or no longer, if deleted)."""

    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Discard:
    """Forget what is held."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What is held is all there is as of `version`. With `reset` the server has another history."""

    version: str
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Apply:
    """What just came is a change of the content."""

    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """The content is as of `version`."""

    version: str


@dataclass(frozen=True, slots=True)
class Clear:
    """The resource is not served: there is nothing."""


@dataclass(frozen=True, slots=True)
class Report:
    """Tell people, once."""

    text: str
    trouble: bool = True


Request = Wait | List | Watch
Command = Request | Hold | Discard | Commit | Apply | Progress | Clear | Report
Commands = tuple[Command, ...]

_HOLD, _HOLD_DELETED = (Hold(),), (Hold(deleted=True),)
_APPLY, _APPLY_DELETED = (Apply(),), (Apply(deleted=True),)


class Phase(Enum):
    WAITING = "waiting"
    STREAMING = "streaming"
    LISTING = "listing"
    WATCHING = "watching"


class Reflector:
    """The state of following one resource (in one namespace, or in all)."""

    def __init__(self, rand: Callable[[], float], *, lasting: bool = False) -> None:
        """`rand` yields numbers in [0, 1)."""
        self._rand = rand
        self._lasting = lasting
        self.phase = Phase.WAITING
        self._next: Callable[[], Commands] = self._begin
        self._streams = not lasting
        self._page = List()
        # The newest version seen; and the one that the present watch began after, so that all it brings
        # is newer.
        self._version = ""
        self._newest = OPAQUE
        self._since = OPAQUE
        # The present watch: when it was accepted, when it last brought something, when the server ends it.
        self._opened_at: float | None = None
        self._heard_at = 0.0
        self._timeout_s = 0
        #: From when on the present deadline only moves further away.
        self.sends_bookmarks = False
        # In a row.
        self._silences = 0
        self._failures = 0
        self._reported: int | None = None

    @property
    def deadline(self) -> float | None:
        """When the present watch is dead unless something comes before."""
        if self._opened_at is None or self._lasting:
            return None
        if self.phase is Phase.STREAMING:
            return self._heard_at + _STREAM_SILENCE_S
        if self.sends_bookmarks:
            return self._heard_at + _SILENCE_S
        return self._opened_at + self._timeout_s + _OVERTIME_S

    def step(self, event: Event, now: float) -> Commands:
        """What to do after `event`. `now` never goes back."""
        match event:
            case Received():
                return self._received(event, now)
            case Listed():
                return self._listed(event)
            case Opened():
                self._opened_at = self._heard_at = now
                return ()
            case Ended():
                return self._ended(now)
            case Failed():
                return self._failed(event, now)
            case Silent():
                return self._silent()
            case Started():
                return self._begin()
            case Waited():
                return self._next()

    # --- requests

    def _begin(self) -> Commands:
        """Fetch everything."""
        if self._streams:
            return (Discard(), self._watch(Phase.STREAMING))
        self._page = List()
        return (Discard(), *self._list())

    def _list(self) -> Commands:
        self.phase = Phase.LISTING
        return (self._page,)

    def _resume(self) -> Commands:
        return (self._watch(Phase.WATCHING),)

    def _watch(self, phase: Phase) -> Watch:
        self.phase = phase
        self._opened_at = None
        self._timeout_s = int((_LASTING_WATCH_S if self._lasting else _WATCH_S) * (1 + self._rand()))
        initial = phase is Phase.STREAMING
        self._since = OPAQUE if initial else number(self._version)
        return Watch("" if initial else self._version, initial, self._timeout_s, not self._lasting)

    # --- what comes

    def _listed(self, page: Listed) -> Commands:
        if page.continue_token:
            self._page = List(page.continue_token, self._page.limit)
            return (Hold(), self._page)
        return (Hold(), self._commit(page.version), *self._resume())

    def _commit(self, version: str) -> Commit:
        """All is held. A list that is older than what we have seen comes from another history."""
        newest = number(version)
        reset = OPAQUE < newest < self._newest
        self._version, self._newest, self._since = version, newest, newest
        return Commit(version, reset)

    def _received(self, event: Received, now: float) -> Commands:
        self._heard_at = now
        self._silences = 0
        if self.phase is Phase.STREAMING:
            return self._received_initial(event)
        recovery = self._recovered(now)
        version = number(event.version)
        if OPAQUE < version < self._since:
            return (*recovery, *self._again(self._begin, at_once=True))
        if version == OPAQUE or version > self._newest:
            self._version, self._newest = event.version, version
        if event.bookmark:
            self.sends_bookmarks = True
            return (Progress(event.version), *recovery)
        changed = _APPLY_DELETED if event.deleted else _APPLY
        return (*changed, *recovery) if recovery else changed

    def _received_initial(self, event: Received) -> Commands:
        if event.initial_end:
            self.phase = Phase.WATCHING
            return (self._commit(event.version),)
        if event.bookmark:
            return ()
        return _HOLD_DELETED if event.deleted else _HOLD

    def _recovered(self, now: float) -> Commands:
        """Troubles are over when a watch has lived for a while."""
        if self._opened_at is None or now - self._opened_at < _HEALTHY_S:
            return ()
        self._failures = 0
        if self._reported is None:
            return ()
        self._reported = None
        return (Report("is followed again", trouble=False),)

    # --- what ends

    def _ended(self, now: float) -> Commands:
        recovery = self._recovered(now)
        if self.phase is Phase.STREAMING:
            # The server takes the parameters but does not know them: the initial events had no end.
            self._streams = False
            return (*recovery, *self._again(self._begin, at_once=True))
        # The last event may be older than the server's memory.
        again = self._begin if self._lasting else self._resume
        return (*recovery, *self._again(again, at_once=True))

    def _silent(self) -> Commands:
        if self.phase is Phase.STREAMING:
            self._streams = False
            return self._again(self._begin, at_once=True)
        self._silences += 1
        return self._again(self._resume if self._silences < 2 else self._begin, at_once=True)

    def _failed(self, failure: Failed, now: float) -> Commands:
        code = failure.code
        recovery = self._recovered(now)
        if code == 404:
            self._version, self._newest = "", OPAQUE
            return (*recovery, Discard(), Clear(), *self._again(self._begin, failure))
        refused_to_stream = self.phase is Phase.STREAMING and code not in _NOT_ABOUT_STREAMING
        opened = self.phase is not Phase.LISTING and self._opened_at is not None
        at_once = (opened or refused_to_stream or code in _NOT_RESUMABLE) and code not in _REFUSED
        return (*recovery, *self._again(self._after(code), failure, at_once=at_once))

    def _after(self, code: int) -> Callable[[], Commands]:
        """How to go on after a failure."""
        if self.phase is Phase.STREAMING:
            self._streams = code in _NOT_ABOUT_STREAMING
            return self._begin
        if code not in _NOT_RESUMABLE:
            return self._list if self.phase is Phase.LISTING else self._resume
        if self.phase is Phase.LISTING:
            return self._list_at_once
        return self._begin

    def _list_at_once(self) -> Commands:
        """Without pages there is no token that can become too old."""
        self._page = List(limit=0)
        return (Discard(), *self._list())

    def _again(
        self, action: Callable[[], Commands], failure: Failed | None = None, *, at_once: bool = False
    ) -> Commands:
        """Do it after a while; or at once, if that was the first trouble."""
        self._failures += 1
        self._opened_at = None
        report = () if failure is None else self._report(failure)
        if at_once and self._failures == 1:
            return (*report, *action())
        wait_s = _BACKOFF.wait_s(self._failures, self._rand)
        if failure is not None:
            wait_s = min(wait_s, _CEILINGS_S.get(failure.code, wait_s))
        wait_s *= 1 + self._rand()
        if failure is not None:
            wait_s = max(wait_s, min(failure.retry_after_s, _RETRY_AFTER_CEILING_S))
        self.phase = Phase.WAITING
        self._next = action
        return (*report, Wait(wait_s))

    def _report(self, failure: Failed) -> Commands:
        if failure.code == self._reported:
            return ()
        if failure.code not in _REFUSED and self._failures < _WORTH_REPORTING:
            return ()
        self._reported = failure.code
        if failure.code == 404:
            return (Report("is not served (yet)", trouble=False),)
        return (Report(f"cannot be followed, trying again: {failure.message}"),)
