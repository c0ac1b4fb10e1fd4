"""CONTRIBUTING.md: users read short, literal sentences in the words of Kubernetes.

A message that names neither the actor nor the effect ("nobody was told") cannot be searched for. Each pattern below
has the words to use in its place. Text that Kubernetes words itself is in `QUOTED`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

from tests.unit.house.messages import Text, messages, pages

#: What does not belong into a message, and what to write instead.
RIDDLES = {
    r"(no|some|every|any)body": "the actor: a user, a client, a process, a controller; or `none`",
    r"someone|anyone|everyone": "the actor: a user, a client, a process, a controller",
    r"who(so)?ever|whom": "the actor: a user, a client, a process, a controller",
    r"whichever": "all, any",
    r"told": "configured, notified, reported; `default:` for what holds otherwise",
    r"tells? of": "reports, names",
    r"sent away": "rejected",
    r"that was it": "done, completed",
    r"forsak\w+|forsook": "abandons, releases",
    r"befalls?|befell": "affects, happens to",
    r"asides?": "unused, excluded, moved to another folder",
    r"anew": "again, new",
    r"to be had": "available",
    r"(is|are) there already": "already exists",
    r"gives? way|gave way": "hands over to",
    r"look(s|ed)? after": "manages, reconciles",
    r"stands? by": "is a standby",
    r"lets? go": "releases",
    r"(has|have) come": "was added, was created, arrived",
    r"before your eyes": "live",
    r"as (it is )?wanted": "in the desired state",
    r"(?<!there )(is|are) no (?!longer\b|more\b|error\b)[a-z]+": "is not a …",
}
#: Pages that quote what was said elsewhere or before: pages of their kind are checked for everything else.
UNCHECKED = ("CHANGELOG.md", "ARCHITECTURE.md")
#: Texts that Kubernetes words itself, and names that are no prose. They stay to the letter.
QUOTED = (
    '" is no port',  # the proxy subresource, after Go's words for a wrong port
    "the patched object is no JSON object",
    "JSON Patch: the result is no object",
)
_riddle = re.compile(rf"\b(?:{'|'.join(f'(?:{each})' for each in RIDDLES)})\b", re.IGNORECASE)


def riddles(texts: Iterable[Text]) -> Iterator[str]:
    """Each riddle with its place and what to write instead."""
    for place, line in texts:
        if (found := _riddle.search(line)) and not any(quoted in line for quoted in QUOTED):
            yield f"{place}: {found[0]!r} in {line.strip()!r}; write: {plain(found[0])}"


def plain(words: str) -> str:
    return next(
        instead for pattern, instead in RIDDLES.items() if re.fullmatch(pattern, words, re.IGNORECASE)
    )


def test_messages_are_in_plain_language() -> None:
    assert list(riddles(messages())) == []


def test_pages_are_in_plain_language() -> None:
    checked = (each for each in pages() if not each.place.startswith(UNCHECKED))
    assert list(riddles(checked)) == []


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("nobody leads", "none"),
        ("Nobody was sent away.", "none"),
        ("as Whom to ask", "the actor"),
        ("the port is not to be had", "available"),
        ("x is no mapping", "is not a"),
    ],
)
def test_a_riddle_is_found_with_its_place_and_the_plain_words(line: str, instead: str) -> None:
    [found] = riddles([Text("src/a.py:7", line)])
    assert found.startswith("src/a.py:7: ")
    assert instead in found


def test_every_quoted_text_is_still_in_the_source() -> None:
    lines = [each.line for each in messages()]
    assert [quoted for quoted in QUOTED if not any(quoted in line for line in lines)] == []


def test_the_texts_of_commands_descriptions_and_pages_are_among_those_checked() -> None:
    """The collection sees what it is for: options, help pages, descriptions, logs and pages."""
    places = {each.place.partition(":")[0] for each in (*messages(), *pages())}
    assert places >= {
        "src/steersman/cli/up_options.py",
        "src/steersman/highlander/api/routes.py",
        "src/steersman/highlander/dashboard/dashboard.js",
        "src/steersman/runtime/manager.py",
        "README.md",
        "docs/guide/raft.md",
        "examples/02-hello/README.md",
    }
