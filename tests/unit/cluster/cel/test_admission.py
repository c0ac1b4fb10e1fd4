"""Expressions of admission policies: the request, the authorizer, composed variables, struct literals."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.cel import (
    DYN,
    INT,
    AccessQuestion,
    AuthorizerValue,
    Budget,
    BudgetExceeded,
    CheckResult,
    CompileError,
    Environment,
    EvaluationError,
    LazyMap,
    Type,
    admission_variables,
    declare_builtin,
)
from steersman.cluster.cel.types import object_type
from steersman.objects.schemas import Schema

REQUEST: dict[str, Any] = {
    "operation": "CREATE",
    "namespace": "ns",
    "userInfo": {"username": "me", "groups": ["a", "system:masters"]},
    "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
}


def test_request_is_typed() -> None:
    environment = Environment(admission_variables())
    rule = environment.compile(
        "request.operation == 'CREATE' && request.namespace == 'ns' && 'system:masters' in request.userInfo.groups"
        " && request.resource.resource == 'deployments' && !has(request.dryRun)"
    )
    assert rule.evaluate({"request": REQUEST}) is True
    with pytest.raises(CompileError, match="undefined field 'nope'"):
        environment.compile("request.nope == ''")


def test_authorizer_is_asked_what_the_expression_says() -> None:
    asked: list[AccessQuestion] = []

    def ask(question: AccessQuestion) -> CheckResult:
        asked.append(question)
        return CheckResult(question.verb == "create", "because")

    environment = Environment(admission_variables())
    authorizer = AuthorizerValue(ask)
    values = {
        "authorizer": authorizer,
        "authorizer.requestResource": authorizer.resource_check(group="apps", resource="deployments"),
    }
    check = "authorizer.group('').resource('pods').subresource('log').namespace('n').name('p')"
    assert environment.compile(f"{check}.check('create').allowed()").evaluate(values) is True
    assert asked.pop() == AccessQuestion("create", None, "", "", "pods", "log", "n", "p")
    assert (
        environment.compile("authorizer.path('/healthz').check('get').reason()").evaluate(values) == "because"
    )
    assert asked.pop() == AccessQuestion("get", path="/healthz")
    rule = environment.compile(
        "authorizer.serviceAccount('n', 's').group('g').resource('r').check('x').allowed()"
    )
    assert rule.evaluate(values) is False
    assert asked.pop() == AccessQuestion("x", ("n", "s"), group="g", resource="r")
    assert (
        environment.compile("authorizer.requestResource.check('create').allowed()").evaluate(values) is True
    )
    assert asked.pop() == AccessQuestion("create", group="apps", resource="deployments")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("authorizer.path('').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource(' ').check('get').allowed()", "resource must not be empty"),
        (
            "authorizer.serviceAccount('n', 'A').path('/').check('get').allowed()",
            "Invalid service account name",
        ),
    ],
)
def test_senseless_questions_are_refused(expression: str, message: str) -> None:
    program = Environment(admission_variables()).compile(expression)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"authorizer": AuthorizerValue(lambda _question: CheckResult(True))})
    assert str(caught.value) == message


def test_an_expression_has_budget_for_two_checks() -> None:
    one = "authorizer.path('/').check('get').allowed()"
    values = {"authorizer": AuthorizerValue(lambda _question: CheckResult(True))}
    environment = Environment(admission_variables())
    assert environment.compile(f"{one} && {one}").evaluate(values, Budget()) is True
    with pytest.raises(BudgetExceeded):
        environment.compile(f"{one} && {one} && {one}").evaluate(values, Budget())


def test_composed_variables_are_computed_once_and_only_if_used() -> None:
    computed: list[str] = []

    def compute() -> int:
        computed.append("a")
        return 1

    def fail() -> int:
        raise EvaluationError("no such key: x")

    environment = Environment(admission_variables(variables={"a": INT, "b": INT}))
    values = {"variables": LazyMap({"a": compute, "b": fail})}
    assert environment.compile("variables.a + variables.a == 2").evaluate(values) is True
    assert computed == ["a"]
    with pytest.raises(EvaluationError, match='composited variable "b" fails to evaluate: no such key: x'):
        environment.compile("variables.b == 1").evaluate(values)
    with pytest.raises(CompileError, match="undefined field 'c'"):
        environment.compile("variables.c == 1")


def test_built_in_types_are_checked() -> None:
    pod = Schema(
        "struct",
        name="io.k8s.api.core.v1.Pod",
        properties={
            "labels": Schema("map", values=Schema("scalar", scalar="string")),
            "owners": Schema("list", values=lambda: pod),
            "port": Schema("scalar", scalar="int-or-string"),
            "cpu": Schema("scalar", scalar="quantity"),
            "limits": Schema("map", values=Schema("scalar", scalar="quantity")),
        },
    )
    environment = Environment({"object": declare_builtin(pod)})
    rule = environment.compile(
        "object.owners.all(o, o.owners.size() == 0) && object.labels.a == '' && object.port == 1"
    )
    assert rule.evaluate({"object": {"owners": [{"owners": []}], "labels": {"a": ""}, "port": 1}}) is True
    for unknown in ("spec", "cpu", "limits"):
        with pytest.raises(CompileError, match=f"undefined field '{unknown}'"):
            environment.compile(f"object.owners.all(o, has(o.{unknown}))")


def test_struct_literals_make_objects_of_declared_types() -> None:
    def struct(name: str) -> Type | None:
        if not name.startswith("Object"):
            return None
        return object_type(name, lambda field: struct(f"{name}.{field}") if field == "spec" else DYN)

    environment = Environment(admission_variables(), structs=struct)
    program = environment.compile(
        "Object{spec: Object.spec{replicas: object.spec.replicas + 1, ?x: optional.none()}}"
    )
    assert program.evaluate({"object": {"spec": {"replicas": 1}}}) == {"spec": {"replicas": 2}}
    with pytest.raises(CompileError, match="undeclared reference to 'Other'"):
        environment.compile("Other{a: 1}")
    assert environment.compile("jsonpatch.escapeKey('a/b~c') == 'a~1b~0c'").evaluate({}) is True
