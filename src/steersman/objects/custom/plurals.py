"""English plurals for resource names: Policy → policies, Index → indices, Gateway → gateways.

Right for the words that kinds are made of; what it gets wrong is given as `plural=`.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["plural_of"]

#: By the last word of a kind.
_IRREGULAR: Final = {
    "alias": "aliases",
    "appendix": "appendices",
    "axis": "axes",
    "bus": "buses",
    "calf": "calves",
    "child": "children",
    "criterion": "criteria",
    "echo": "echoes",
    "foot": "feet",
    "gas": "gases",
    "half": "halves",
    "hero": "heroes",
    "index": "indices",
    "knife": "knives",
    "leaf": "leaves",
    "life": "lives",
    "man": "men",
    "matrix": "matrices",
    "mouse": "mice",
    "person": "people",
    "phenomenon": "phenomena",
    "quiz": "quizzes",
    "self": "selves",
    "shelf": "shelves",
    "tomato": "tomatoes",
    "veto": "vetoes",
    "vertex": "vertices",
    "wolf": "wolves",
    "woman": "women",
}
_UNCHANGED: Final = frozenset(
    {
        "credentials",
        "data",
        "dns",
        "endpoints",
        "equipment",
        "firmware",
        "hardware",
        "https",
        "information",
        "kubernetes",
        "media",
        "metadata",
        "metrics",
        "middleware",
        "news",
        "options",
        "series",
        "settings",
        "software",
        "species",
        "tls",
    }
)
#: Ending → plural ending; the first that fits.
_ENDINGS: Final = (
    (re.compile(r"(?<=[^aeiou])y$"), "ies"),
    (re.compile(r"(?<=qu)y$"), "ies"),
    (re.compile(r"sis$"), "ses"),
    (re.compile(r"((?:s|x|z|ch|sh))$"), r"\1es"),
    (re.compile(r"$"), "s"),
)
_last_word = re.compile(r"[A-Z]?[a-z0-9]+$|[A-Z0-9]+$").search


def plural_of(kind: str) -> str:
    """The plural of a kind, in lower case."""
    matched = _last_word(kind)
    head, word = (kind[: matched.start()], matched[0]) if matched else ("", kind)
    head, word = head.lower(), word.lower()
    if word in _UNCHANGED:
        return head + word
    if word in _IRREGULAR:
        return head + _IRREGULAR[word]
    ending, replacement = next(each for each in _ENDINGS if each[0].search(word))
    return head + ending.sub(replacement, word, count=1)
