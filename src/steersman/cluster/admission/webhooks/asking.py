"""`authorizer` in expressions: the cluster's own authorization, asked about the user of the request or about
a service account."""

from __future__ import annotations

from functools import partial

from steersman.cluster.auth.authorization import Action, Authorizer, ExplainingAuthorizer
from steersman.cluster.auth.users import AUTHENTICATED_GROUP, User, account_groups, account_name
from steersman.cluster.cel import on_loop
from steersman.cluster.cel.library import authorization as cel
from steersman.objects.errors import ObjectError
from steersman.objects.selectors import FieldSelector

__all__ = ["asked_authorizer"]


def asked_authorizer(authorizer: Authorizer, user: User) -> cel.Authorizer:
    """The value expressions get. Each question is asked once for one write."""
    answers: dict[cel.Question, cel.Decision] = {}

    def ask(question: cel.Question) -> cel.Decision:
        if question not in answers:
            answers[question] = on_loop(partial(_decide, authorizer, user, question))
        return answers[question]

    return cel.Authorizer(ask)


def _decide(authorizer: Authorizer, user: User, question: cel.Question) -> cel.Decision:
    if question.service_account is not None:
        namespace, name = question.service_account
        groups = (*account_groups(namespace), AUTHENTICATED_GROUP)
        user = User(account_name(namespace, name), groups=groups)
    try:
        action = _action(question)
    except ObjectError as error:
        return cel.Decision(False, error=str(error))
    if isinstance(authorizer, ExplainingAuthorizer):
        decision = authorizer.decide(user, action)
        return cel.Decision(decision.allowed, decision.reason)
    return cel.Decision(authorizer.allows(user, action))


def _action(question: cel.Question) -> Action:
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
