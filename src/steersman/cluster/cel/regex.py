"""Regular expressions evaluated in time linear in the text (like RE2), for any expression.

The tree is compiled to a small program of characters, choices and places. `search` only asks whether there
is a match: it walks a deterministic automaton built as far as texts need it (one dictionary lookup per
character), forgotten when it grows too large. `find` needs to know where: it runs all alternatives side by
side, preferred ones first, as Pike's machine does. Both count their steps, and give up with BudgetExceeded
beyond a bound that only expressions made for it reach.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import get_ident
from typing import Final, TypeAlias

from steersman.cluster.cel.errors import BudgetExceeded, EvaluationError
from steersman.cluster.cel.regex_syntax import (
    Alternate,
    Assert,
    Chars,
    Concat,
    Node,
    Repeat,
    SyntaxProblem,
    parse,
)
from steersman.cluster.cel.unicode_groups import group_test

__all__ = ["Regex", "compiled"]

_MOST_INSTRUCTIONS: Final = 20_000
_MOST_STATES: Final = 1_000
_MOST_STEPS: Final = 500_000
#: Whether an instruction takes a character.
_Test: TypeAlias = Callable[[str], bool]


def compiled(expression: str, complaint: str = "") -> Regex:
    """The program of an expression, kept for its next use. `complaint` begins the text of a refusal."""
    return _kept(expression, complaint, get_ident())


@lru_cache(maxsize=512)
def _kept(expression: str, complaint: str, _thread: int) -> Regex:
    """Each thread has its own: a program learns while it runs."""
    try:
        return Regex(expression)
    except SyntaxProblem as problem:
        raise EvaluationError(f"{complaint}{problem}") from problem
    except RecursionError as problem:
        raise EvaluationError(f"{complaint}error parsing regexp: expression nests too deeply") from problem


class _State:
    """A state of the automaton: the next instructions, and whether it matches."""

    __slots__ = ("ends", "final", "matched", "members", "moves")

    def __init__(self, members: frozenset[int], matched: bool, ends: bool) -> None:
        self.members = members
        self.matched = matched
        self.ends = ends
        #: Nothing that follows can change the answer.
        self.final = matched or not members
        self.moves: dict[str, _State] = {}


class Regex:
    """A compiled regular expression: a program of instructions that take a character, split, assert a place,
    or match.
    """

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tests: list[_Test | None] = []
        self._place: list[str] = []
        self._next: list[tuple[int, ...]] = []
        end = self._emit(None, "match", ())
        self._begin = self._compile(parse(expression), end)
        places = set(self._place)
        self._needs_context = bool(places & {"line-start", "line-end", "boundary", "inside"})
        self._states: dict[frozenset[int], _State] = {}
        self._steps = 0

    # -- compiling ----------------------------------------------------------------------------------

    def _emit(self, test: _Test | None, place: str, following: tuple[int, ...]) -> int:
        if len(self._next) >= _MOST_INSTRUCTIONS:
            raise SyntaxProblem("expression too large", self._expression[:100])
        self._tests.append(test)
        self._place.append(place)
        self._next.append(following)
        return len(self._next) - 1

    def _compile(self, node: Node, then: int) -> int:
        """The first instruction of `node` followed by `then`."""
        match node:
            case Chars():
                return self._emit(_test_of(node), "", (then,))
            case Assert(place):
                return self._emit(None, place, (then,))
            case Concat(parts):
                for part in reversed(parts):
                    then = self._compile(part, then)
                return then
            case Alternate(choices):
                return self._emit(None, "split", tuple(self._compile(choice, then) for choice in choices))
            case Repeat():
                return self._compile_repeat(node, then)

    def _compile_repeat(self, node: Repeat, then: int) -> int:
        if node.high is None:
            loop = self._emit(None, "split", ())
            body = self._compile(node.part, loop)
            self._next[loop] = (body, then) if node.greedy else (then, body)
            then = loop
        else:
            after = then
            for _ in range(node.high - node.low):
                body = self._compile(node.part, then)
                then = self._emit(None, "split", (body, after) if node.greedy else (after, body))
        for _ in range(node.low):
            then = self._compile(node.part, then)
        return then

    # -- is there a match ---------------------------------------------------------------------------

    def search(self, text: str) -> tuple[bool, int]:
        """Whether the text has a match, and how many steps beyond one per character finding out took."""
        self._steps = 0
        if self._needs_context:
            return self.find(text, 0) is not None, self._steps
        if not text:
            return 0 in self._closure([self._begin], at_start=True, at_end=True), self._steps
        state = self._state(self._closure([self._begin], at_start=True))
        for char in text:
            if state.final:
                return state.matched, self._steps
            following = state.moves.get(char)
            if following is None:
                following = state.moves[char] = self._state(self._step(state.members, char))
            state = following
        return state.matched or state.ends, self._steps

    def _state(self, members: frozenset[int]) -> _State:
        known = self._states.get(members)
        if known is None:
            if len(self._states) >= _MOST_STATES:
                self._forget()
            known = self._states[members] = _State(members, 0 in members, self._ends(members))
        return known

    def _forget(self) -> None:
        # States point at each other: those still in use must not keep the rest alive.
        for state in self._states.values():
            state.moves.clear()
        self._states.clear()

    def _step(self, state: frozenset[int], char: str) -> frozenset[int]:
        self._count(len(state))
        reached = [self._next[at][0] for at in state if (test := self._tests[at]) is not None and test(char)]
        return self._closure([*reached, self._begin], at_start=False)

    def _closure(self, begins: list[int], *, at_start: bool, at_end: bool = False) -> frozenset[int]:
        """All instructions reachable without a character; asserted ends stay until the end is known."""
        found: set[int] = set()
        pending = list(begins)
        while pending:
            at = pending.pop()
            if at in found:
                continue
            found.add(at)
            place = self._place[at]
            if place == "split" or (place == "start" and at_start) or (place == "end" and at_end):
                pending.extend(self._next[at])
        self._count(len(found))
        # What can neither take a character, match nor wait for the end has done its part.
        return frozenset(at for at in found if at == 0 or self._tests[at] or self._place[at] == "end")

    def _ends(self, state: frozenset[int]) -> bool:
        waiting = [at for at in state if self._place[at] == "end"]
        return bool(waiting) and 0 in self._closure(waiting, at_start=False, at_end=True)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise BudgetExceeded

    # -- where is it --------------------------------------------------------------------------------

    def find(self, text: str, begin: int) -> tuple[int, int] | None:
        """Where the leftmost match at or after `begin` is, preferring as Perl would."""
        found: tuple[int, int] | None = None
        threads: list[tuple[int, int]] = []
        for at in range(begin, len(text) + 1):
            seen: set[int] = set()
            ready: list[tuple[int, int]] = []
            for instruction, origin in threads:
                self._follow(instruction, origin, text, at, seen, ready)
            if found is None:
                self._follow(self._begin, at, text, at, seen, ready)
            self._count(len(seen) + 1)
            threads = []
            for instruction, origin in ready:
                if instruction == 0:
                    found = (origin, at)
                    break  # whatever comes later in the list is less preferred
                test = self._tests[instruction]
                if at < len(text) and test is not None and test(text[at]):
                    threads.append((self._next[instruction][0], origin))
            if found is not None and not threads:
                break
        return found

    def find_all(self, text: str, limit: int) -> list[str]:
        """All matches that do not overlap; no more than `limit` unless it is negative."""
        self._steps = 0
        matches: list[str] = []
        at, previous_end = 0, -1
        while at <= len(text) and (limit < 0 or len(matches) < limit):
            found = self.find(text, at)
            if found is None:
                break
            start, end = found
            # An empty match right behind the last one does not count.
            if end > start or start != previous_end:
                matches.append(text[start:end])
                previous_end = end
            at = end + 1 if end == start else end
        return matches

    def _follow(
        self, begin: int, origin: int, text: str, at: int, seen: set[int], ready: list[tuple[int, int]]
    ) -> None:
        pending = [begin]
        while pending:
            instruction = pending.pop()
            if instruction in seen:
                continue
            seen.add(instruction)
            place = self._place[instruction]
            if place in {"", "match"}:
                ready.append((instruction, origin))
            elif place == "split" or _holds(place, text, at):
                pending.extend(reversed(self._next[instruction]))


def _test_of(chars: Chars) -> _Test:
    tests = [low.__eq__ if low == high else _between(low, high) for low, high in chars.ranges]
    tests += (group_test(name) for name in chars.groups)
    tests += (_test_of(each) for each in chars.sets)
    test = tests[0] if len(tests) == 1 else _any_of(tests)
    if chars.folded:
        test = _folded(test)
    return _negated(test) if chars.negated else test


def _between(low: str, high: str) -> _Test:
    return lambda char: low <= char <= high


def _any_of(tests: list[_Test]) -> _Test:
    return lambda char: any(test(char) for test in tests)


def _folded(test: _Test) -> _Test:
    return lambda char: test(char) or test(char.lower()[:1]) or test(char.upper()[:1])


def _negated(test: _Test) -> _Test:
    return lambda char: not test(char)


def _is_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isascii() and (text[at].isalnum() or text[at] == "_")


def _holds(place: str, text: str, at: int) -> bool:
    match place:
        case "start":
            return at == 0
        case "end":
            return at == len(text)
        case "line-start":
            return at == 0 or text[at - 1] == "\n"
        case "line-end":
            return at == len(text) or text[at] == "\n"
    return (_is_word(text, at - 1) != _is_word(text, at)) == (place == "boundary")
