"""Which certificates come next: first ones, renewals, a new authority with an overlap, and what is beyond use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from steersman.http.certificates import KeyPair
from steersman.webhooks.certificates import Certificates, Lives, begin, next_certificates

START = datetime(2026, 1, 1, tzinfo=UTC)
LIVES = Lives(timedelta(days=90), timedelta(days=365))
NAMES = ["hooks.shop.svc"]


def at(days: float) -> datetime:
    return START + timedelta(days=days)


def coming(
    current: Certificates | None, days: float, *, announced: bool = True, renew: str = ""
) -> Certificates | None:
    return next_certificates(current, NAMES, LIVES, at(days), announced=announced, renew=renew)


def names(certificates: Certificates) -> list[str]:
    found = certificates.leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return found.get_values_for_type(x509.DNSName)


def test_the_first_certificate_is_of_the_first_authority() -> None:
    first = coming(None, 0)
    assert first is not None
    assert first.is_of_newest
    assert names(first) == NAMES
    assert first.leaf.not_valid_after_utc == at(90)
    assert first.authorities[0].not_valid_after_utc == at(365)


@pytest.mark.parametrize(
    ("days", "new_serving", "new_authority"),
    [
        (0, False, False),
        (59, False, False),
        (61, True, False),
        (89, True, False),
        (95, True, False),
        (244, False, True),
    ],
    ids=[
        "at once",
        "before two thirds",
        "after two thirds",
        "almost over",
        "over",
        "the authority's two thirds",
    ],
)
def test_what_is_due_when(days: float, new_serving: bool, new_authority: bool) -> None:
    first = begin(NAMES, LIVES, START)
    then = coming(first, days) or first
    assert (then.serving != first.serving) is new_serving
    assert (then.newest != first.newest) is new_authority


def test_a_new_authority_is_announced_before_it_is_used_and_the_old_one_trusted_until_it_is_over() -> None:
    current = begin(NAMES, LIVES, START)
    for days in (61, 122, 183):
        renewed = coming(current, days)
        assert renewed is not None
        current = renewed
    announced = coming(current, 244)
    assert announced is not None
    assert len(announced.authorities) == 2
    assert announced.serving == current.serving
    assert not announced.is_of_newest
    # Nothing more before everybody knows it, not even what would be due.
    assert coming(announced, 244, announced=False) is None
    used = coming(announced, 244.1)
    assert used is not None
    assert (used.is_of_newest, used.bundle) == (True, announced.bundle)
    assert coming(used, 245) is None
    # The old authority is over; so is all it ever issued.
    assert current.leaf.not_valid_after_utc < at(365)
    later = coming(used, 310)
    assert later is not None
    pruned = coming(later, 366)
    assert pruned is not None
    assert [each.not_valid_after_utc for each in pruned.authorities] == [at(244 + 365)]
    assert pruned.serving == later.serving


def test_an_operator_that_was_away_for_years_begins_anew() -> None:
    first = begin(NAMES, LIVES, START)
    again = coming(first, 1000, announced=False)
    assert again is not None
    assert again.is_of_newest
    assert len(again.authorities) == 1


def test_a_name_that_is_missing_is_added_to_those_of_others() -> None:
    first = begin(["other.shop.svc"], LIVES, START)
    both = coming(first, 1, announced=False)
    assert both is not None
    assert sorted(names(both)) == ["hooks.shop.svc", "other.shop.svc"]
    assert coming(both, 2) is None


@pytest.mark.parametrize(
    ("wish", "steps"), [("serving", [(False, True)]), ("authority", [(True, False), (False, True)])]
)
def test_a_renewal_can_be_asked_for(wish: str, steps: list[tuple[bool, bool]]) -> None:
    current, seen = begin(NAMES, LIVES, START), []
    for _ in steps:
        then = coming(current, 1, renew=wish)
        assert then is not None
        seen.append((then.bundle != current.bundle, then.serving != current.serving))
        current = then
    assert seen == steps


def test_what_a_secret_holds_comes_back_or_is_of_no_use() -> None:
    first, other = begin(NAMES, LIVES, START), begin(NAMES, LIVES, START)
    data = first.to_data()
    assert Certificates.from_data(data) == first
    mixed = Certificates(
        first.bundle, first.authority_key, KeyPair(first.serving.certificate, other.serving.key)
    )
    for spoilt in (
        {},
        {**data, "tls.crt": "?"},
        {**data, "ca.crt": ""},
        {name: value for name, value in data.items() if name != "ca.key"},
        {**data, "ca.key": other.to_data()["ca.key"]},
        mixed.to_data(),
    ):
        assert Certificates.from_data(spoilt) is None
