"""Files of environment variables."""

from __future__ import annotations

import pytest

from steersman.cluster.node.environment.env_files import BadEnvFile, value_in


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("KEY='v'", "v"),
        ("# comment\n\n  KEY='v' # more\n", "v"),
        ("OTHER='o'\nKEY='v'\nKEY='later'", "v"),
        ("KEY='two\nlines'", "two\nlines"),
        ("KEY='$x \"as it is\"'", '$x "as it is"'),
        ("KEY= 'v'", ""),
        ("OTHER= 'v'\nKEY='v'", "v"),
        ("KEY=''", ""),
        ("", ""),
        ("KEY='v'\nnonsense", "v"),
    ],
)
def test_a_value_is_found(text: str, value: str) -> None:
    assert value_in(text, "KEY") == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "at line 1: missing '='"),
        ("\n='v'", "at line 2: empty variable name"),
        ("KEY ='v'", "at line 1: whitespace before '=' is not allowed"),
        ("KEY=v", "at line 1: value must be enclosed in single quotes"),
        ("KEY='v' x", "at line 1: unexpected content after closing quote"),
        ("A='a'\nKEY='v\n\n", "starting at line 2: unclosed single quote"),
    ],
)
def test_bad_lines_are_refused(text: str, problem: str) -> None:
    with pytest.raises(BadEnvFile) as raised:
        value_in(text, "KEY")
    assert str(raised.value) == f"invalid environment variable format {problem}"
