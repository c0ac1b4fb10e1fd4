"""The CEL variable `authorizer`: authorization checks for the user of the request or for a service
account.
"""

from __future__ import annotations

from functools import partial

from steersman.cluster.auth.authorization import Action, Authorizer, ExplainingAuthorizer
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, User, account_groups, account_name
from steersman.cluster.cel import on_loop
from steersman.cluster.cel.library import authorization as cel
from steersman.objects.errors import ObjectError
from steersman.objects.selectors import FieldSelector

__all__ = ["asked_authorizer"]


def asked_authorizer(authorizer: Authorizer, user: User) -> cel.AuthorizerValue:
    """The value expressions get. Each question is asked once for one write."""
    answers: dict[cel.AccessQuestion, cel.CheckResult] = {}

    def ask(question: cel.AccessQuestion) -> cel.CheckResult:
        if question not in answers:
            answers[question] = on_loop(partial(_decide, authorizer, user, question))
        return answers[question]

    return cel.AuthorizerValue(ask)


def _decide(authorizer: Authorizer, user: User, question: cel.AccessQuestion) -> cel.CheckResult:
    if question.service_account is not None:
        namespace, name = question.service_account
        groups = (*account_groups(namespace), AUTHENTICATED_GROUP)
        user = User(account_name(namespace, name), groups=groups)
    try:
        action = _action(question)
    except ObjectError as error:
        return cel.CheckResult(False, error=str(error))
    if isinstance(authorizer, ExplainingAuthorizer):
        decision = authorizer.decide(user, action)
        return cel.CheckResult(decision.allowed, decision.reason)
    return cel.CheckResult(authorizer.allows(user, action))


def _action(question: cel.AccessQuestion) -> Action:
    if question.path:
        return Action(question.verb, path=question.path)
    fields: tuple[tuple[str, str], ...] = ()
    if question.field_selector:
        wanted = FieldSelector.parse(question.field_selector).requirements
        fields = tuple((each.field, each.value) for each in wanted if each.equal)
    return Action(
        question.verb,
        question.group,
        "*",
        question.resource,
        question.subresource,
        question.namespace,
        question.name,
        fields=fields,
    )
