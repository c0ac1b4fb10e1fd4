"""What every new object gets."""

from __future__ import annotations

import uuid

from steersman.cluster.apiserver.call import new_uid


def test_uids_are_random_uuids_in_their_usual_spelling() -> None:
    made = [new_uid() for _ in range(500)]
    assert len(set(made)) == len(made)
    for text in made:
        parsed = uuid.UUID(text)
        assert (parsed.version, parsed.variant, str(parsed)) == (4, uuid.RFC_4122, text)
    # Every digit that is not fixed takes every value.
    for position in set(range(36)) - {8, 13, 14, 18, 19, 23}:
        assert len({text[position] for text in made}) == 16
