"""What `authorizer` asks for in expressions."""

from __future__ import annotations

import asyncio

import pytest

from steersman.cluster.admission.webhooks.authorizer_variable import asked_authorizer
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.cluster.cel.library.authorization import AccessQuestion, CheckResult

ANN = User("ann")


class Recorder:
    def __init__(self) -> None:
        self.asked: list[tuple[User, Action]] = []

    def allows(self, user: User, action: Action) -> bool:
        self.asked.append((user, action))
        return True


def ask(question: AccessQuestion) -> tuple[CheckResult, list[tuple[User, Action]]]:
    recorder = Recorder()

    async def body() -> CheckResult:
        return asked_authorizer(recorder, ANN).ask(question)

    return asyncio.run(body()), recorder.asked


@pytest.mark.parametrize(
    ("question", "action"),
    [
        (AccessQuestion("get", path="/metrics"), Action("get", path="/metrics")),
        (
            AccessQuestion(
                "get", group="apps", resource="deployments", subresource="scale", namespace="n", name="d"
            ),
            Action("get", "apps", "*", "deployments", "scale", "n", "d"),
        ),
        (
            AccessQuestion("list", resource="pods", field_selector="spec.nodeName=x,a!=b"),
            Action("list", "", "*", "pods", fields=(("spec.nodeName", "x"),)),
        ),
    ],
    ids=["path", "resource", "field selector"],
)
def test_the_action_of_a_question(question: AccessQuestion, action: Action) -> None:
    decision, asked = ask(question)
    assert decision.allowed
    assert asked == [(ANN, action)]


def test_a_selector_that_makes_no_sense_is_an_error_of_the_answer() -> None:
    decision, asked = ask(AccessQuestion("list", resource="pods", field_selector="x"))
    assert not decision.allowed
    assert decision.error
    assert asked == []


def test_a_service_account_has_its_groups() -> None:
    _, asked = ask(AccessQuestion("get", resource="pods", service_account=("n", "bot")))
    assert asked[0][0] == User(
        "system:serviceaccount:n:bot",
        groups=("system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"),
    )
