"""Which answers count: those of the request that is under way."""

from __future__ import annotations

from steersman.election.lease.requests import Pending


def test_an_answer_ends_its_request_and_says_when_that_was_sent() -> None:
    pending = Pending()
    number = pending.begin(5.0)
    assert pending.sent_at == 5.0
    assert pending.end(number) == 5.0
    assert pending.sent_at is None


def test_the_answer_to_an_earlier_request_does_not_count() -> None:
    pending = Pending()
    earlier = pending.begin(5.0)
    pending.begin(6.0)
    assert pending.end(earlier) is None
    assert pending.sent_at == 6.0


def test_the_answer_to_a_request_that_was_given_up_does_not_count() -> None:
    pending = Pending()
    number = pending.begin(5.0)
    pending.give_up()
    assert pending.end(number) is None


def test_an_answer_counts_once() -> None:
    pending = Pending()
    number = pending.begin(5.0)
    pending.end(number)
    assert pending.end(number) is None
