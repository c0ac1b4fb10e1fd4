"""Unicode categories and scripts for `\\p{…}` in regular expressions.

Python knows no scripts; `jsonschema_rs` brings an engine that does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from jsonschema_rs import Draft202012Validator, RegexOptions

__all__ = ["group_test", "is_group"]

#: Go takes names only as Unicode writes them.
_is_name = re.compile("[A-Z][A-Za-z_]*").fullmatch


def is_group(name: str) -> bool:
    return _is_name(name) is not None and _matcher(name) is not None


def group_test(name: str) -> Callable[[str], bool]:
    """Whether a character is of the group, which must be one."""
    matcher = _matcher(name)
    assert matcher is not None
    return matcher.is_valid


@lru_cache(maxsize=256)
def _matcher(name: str) -> Draft202012Validator | None:
    try:
        return Draft202012Validator({"pattern": f"\\p{{{name}}}"}, pattern_options=RegexOptions())
    except ValueError:
        return None
