from __future__ import annotations

from collections import Counter

import pytest

from steersman.runtime.sharding import ShardSettings
from steersman.runtime.sharding.views import View, owner

UNITS = [f"shop/app-{number}" for number in range(900)]
THREE = frozenset(("a", "b", "c"))
FOUR = THREE | {"d"}


def test_members_have_about_the_same_share() -> None:
    shares = Counter(owner(unit, THREE) for unit in UNITS)
    assert min(shares.values()) > 250


def test_a_new_member_takes_from_others_and_nothing_else_moves() -> None:
    moved = [unit for unit in UNITS if owner(unit, THREE) != owner(unit, FOUR)]
    assert {owner(unit, FOUR) for unit in moved} == {"d"}
    assert len(moved) == pytest.approx(len(UNITS) / 4, rel=0.3)


def test_the_owner_is_the_same_in_every_process_and_release() -> None:
    assert [owner(f"shop/app-{number}", THREE) for number in range(8)] == list("babbcbab")


def test_nobody_owns_anything_without_members_or_claims() -> None:
    assert owner("shop/app", frozenset()) == ""
    assert not View("a").owns("shop/app")
    assert not View("a", (frozenset(),)).owns("shop/app")


def test_a_view_gives_what_all_own_claims_and_no_other_claim_cover() -> None:
    alone = frozenset("a")
    mine = {unit for unit in UNITS if owner(unit, THREE) == "a"}
    assert {unit for unit in UNITS if View("a", (alone, THREE)).owns(unit)} == mine
    rivals = (("b", frozenset("ab")),)
    taken = {unit for unit in UNITS if owner(unit, frozenset("ab")) == "b"}
    assert {unit for unit in UNITS if View("a", (alone,), rivals).owns(unit)} == set(UNITS) - taken
    both = View("a", (alone,), rivals).and_also(View("a", (THREE,)))
    assert {unit for unit in UNITS if both.owns(unit)} == mine - taken
    assert not View("a", (alone,)).and_also(View("a")).claims


@pytest.mark.parametrize(
    "settings",
    [{"duration_s": 3.0}, {"renew_deadline_s": 0.5}, {"retry_period_s": 0.0}, {"handover_s": -1.0}],
    ids=lambda given: next(iter(given)),
)
def test_settings_that_are_not_safe_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="sharding needs duration_s > renew_deadline_s"):
        ShardSettings(**settings)
