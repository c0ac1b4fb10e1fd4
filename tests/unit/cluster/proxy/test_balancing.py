"""Which backend a client gets."""

from __future__ import annotations

from collections import Counter

from steersman.cluster.proxy.balancing import Affinities, Balancer
from steersman.cluster.proxy.frontends import Backend, FrontendRoute

A, B, C = (Backend(f"10.0.0.{number}", 80) for number in (1, 2, 3))


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def first(balancer: Balancer, client: str = "192.0.2.1") -> Backend:
    backend = next(balancer.candidates(client))
    balancer.chosen(client, backend)
    return backend


def test_backends_take_turns() -> None:
    balancer = Balancer(FrontendRoute((A, B, C)), Affinities())
    assert Counter(first(balancer) for _ in range(9)) == {A: 3, B: 3, C: 3}


def test_all_backends_are_tried_once() -> None:
    balancer = Balancer(FrontendRoute((A, B, C), 60, "g"), Affinities())
    first(balancer)
    assert sorted(balancer.candidates("192.0.2.1")) == [A, B, C]
    balancer.route = FrontendRoute(())
    assert list(balancer.candidates("192.0.2.1")) == []


def test_client_stays_until_it_was_away_too_long() -> None:
    time = Time()
    balancer = Balancer(FrontendRoute((A, B, C), 60, "g"), Affinities(time))
    kept = first(balancer)
    for _ in range(5):
        time.now += 50
        assert first(balancer) == kept
    time.now += 61
    assert first(balancer) != kept


def test_clients_are_told_apart() -> None:
    balancer = Balancer(FrontendRoute((A, B), 60, "g"), Affinities())
    assert first(balancer, "192.0.2.1") != first(balancer, "192.0.2.2")


def test_backend_that_is_gone_is_left() -> None:
    balancer = Balancer(FrontendRoute((A, B), 60, "g"), Affinities())
    kept = first(balancer)
    other = B if kept == A else A
    balancer.route = FrontendRoute((other,), 60, "g")
    assert first(balancer) == other


def test_frontends_of_a_group_agree() -> None:
    affinities = Affinities()
    one, two = (Balancer(FrontendRoute((A, B, C), 60, "g"), affinities) for _ in range(2))
    kept = first(one)
    assert first(two) == kept
    assert len({first(Balancer(FrontendRoute((A, B, C), 60, str(n)), affinities)) for n in range(50)}) == 3


def test_clients_from_elsewhere_are_not_admitted() -> None:
    balancer = Balancer(FrontendRoute((A,), sources=("192.0.2.0/24", "2001:db8::/32")), Affinities())
    assert balancer.admits("192.0.2.7")
    assert balancer.admits("2001:db8::1")
    assert not balancer.admits("127.0.0.1")
    assert Balancer(FrontendRoute((A,)), Affinities()).admits("127.0.0.1")
