"""`$(VAR)`, in all its forms."""

from __future__ import annotations

import pytest

from steersman.cluster.node.environment import expand_all

VARIABLES = {"A": "x", "B": "$(A)", "EMPTY": "", "WITH SPACE": "s"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("$(A)", "x"),
        ("<$(A)-$(A)>", "<x-x>"),
        ("$(B)", "$(A)"),
        ("$(EMPTY)", ""),
        ("$(WITH SPACE)", "s"),
        ("$(NONE)", "$(NONE)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$x"),
        ("$$", "$"),
        ("$", "$"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("a$(", "a$("),
        ("$()", "$()"),
        ("$($(A))", "$($(A))"),
        ("${A} $(A)$", "${A} x$"),
    ],
)
def test_references_are_replaced(text: str, expanded: str) -> None:
    assert expand_all([text], VARIABLES) == (expanded,)
