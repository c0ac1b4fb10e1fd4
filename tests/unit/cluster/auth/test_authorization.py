"""Who may do what, and how a refusal reads."""

from __future__ import annotations

import pytest

from steersman.cluster.auth.authorization import Action, AuthorizerChain, Decision, Masters, refusal
from steersman.cluster.auth.users import ANONYMOUS, User

ADMIN = User("root", groups=("system:masters",))
ANN = User("ann", groups=("system:authenticated",))
CHAIN = AuthorizerChain({"masters": Masters()})


@pytest.mark.parametrize(
    "action",
    [
        Action("delete", resource="nodes", name="n"),
        Action("get", path="/metrics"),
        Action("*", "*", "*", "*"),
    ],
    ids=str,
)
def test_masters_may_do_everything_and_others_nothing(action: Action) -> None:
    assert CHAIN.allows(ADMIN, action)
    assert not CHAIN.allows(ANN, action)
    assert not CHAIN.allows(ANONYMOUS, action)


def test_an_empty_chain_allows_nothing() -> None:
    assert not AuthorizerChain({}).allows(ADMIN, Action("get", path="/healthz"))


def test_one_who_allows_is_enough_and_ends_the_asking() -> None:
    asked = []

    class Witness:
        def __init__(self, answer: bool) -> None:
            self.answer = answer

        def allows(self, user: User, action: Action) -> bool:
            asked.append(self.answer)
            return self.answer

    assert AuthorizerChain({"a": Witness(False), "b": Witness(True), "c": Witness(True)}).allows(
        ANN, Action("get")
    )
    assert asked == [False, True]


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (Action("get", path="/metrics"), 'User "ann" cannot get path "/metrics"'),
        (
            Action("list", resource="pods", namespace="x"),
            'User "ann" cannot list resource "pods" in API group "" in the namespace "x"',
        ),
        (
            Action("update", "apps", "v1", "deployments", "scale", "x", "d"),
            'User "ann" cannot update resource "deployments/scale" in API group "apps" in the namespace "x"',
        ),
        (
            Action("get", resource="nodes", name="n"),
            'User "ann" cannot get resource "nodes" in API group "" at the cluster scope',
        ),
    ],
    ids=lambda value: value.verb if isinstance(value, Action) else "",
)
def test_a_refusal_says_who_what_and_where(action: Action, text: str) -> None:
    assert refusal(ANN, action) == text


class Reasoning:
    def __init__(self, reason: str) -> None:
        self._reason = reason

    def allows(self, user: User, action: Action) -> bool:
        return False

    def decide(self, user: User, action: Action) -> Decision:
        return Decision(False, self._reason)


def test_reasons_against_are_told_with_who_has_them() -> None:
    chain = AuthorizerChain(
        {"node": Reasoning("not yours"), "x": Reasoning(""), "rbac": Reasoning("no role")}
    )
    assert chain.decide(ANN, Action("get")).reason == "node: not yours\nrbac: no role"
