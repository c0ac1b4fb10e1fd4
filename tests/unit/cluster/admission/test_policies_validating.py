"""Validating policies: what they see, what they say, what follows."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from .conftest import write
from .policy_writes import Cluster, Object, deployment
from .webhook_server import rule

DENIED = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_violation_is_told_in_full(cluster: Cluster) -> None:
    cluster.check("object.spec.replicas <= 3")
    error = cluster.refused()
    message = DENIED + "failed expression: object.spec.replicas <= 3"
    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'deployments.apps "a" is forbidden: {message}',
        "reason": "Invalid",
        "details": {"name": "a", "group": "apps", "kind": "deployments", "causes": [{"message": message}]},
        "code": 422,
    }
    cluster.write(deployment(3))


MESSAGES: dict[str, tuple[Object, str]] = {
    "a message": ({"message": " too many "}, "too many"),
    "an expression": (
        {"messageExpression": "'at most 3, not ' + string(object.spec.replicas)"},
        "at most 3, not 5",
    ),
    "an expression before a message": ({"message": "m", "messageExpression": "'e'"}, "e"),
    "a failing expression": ({"message": "m", "messageExpression": "object.nothing"}, "m"),
    "an empty expression": ({"message": "m", "messageExpression": "' '"}, "m"),
    "lines": ({"message": "m", "messageExpression": "'a\\nb'"}, "m"),
    "too long": ({"message": "m", "messageExpression": "'x'.replace('x', '" + "y" * 6000 + "')"}, "m"),
}


@pytest.mark.parametrize(("validation", "message"), MESSAGES.values(), ids=MESSAGES)
def test_the_message_of_a_violation(cluster: Cluster, validation: Object, message: str) -> None:
    cluster.check({"expression": "false", **validation})
    assert cluster.refused().message.endswith(DENIED + message)


@pytest.mark.parametrize(
    ("reason", "code"),
    [("Forbidden", 403), ("Unauthorized", 401), ("RequestEntityTooLarge", 413), ("Invalid", 422)],
)
def test_the_reason_decides_over_the_code(cluster: Cluster, reason: str, code: int) -> None:
    cluster.check({"expression": "false", "reason": reason})
    error = cluster.refused()
    assert (error.reason, error.code) == (reason, code)


def test_the_first_of_several_violations_is_the_answer(cluster: Cluster) -> None:
    cluster.check({"expression": "true"}, {"expression": "false", "message": "1"}, {"expression": "false"})
    assert cluster.refused().message.endswith(DENIED + "1")


EXPRESSIONS = {
    "the object": "object.metadata.name == 'a' && object.spec.template.spec.containers.all(c, c.image == 'i')",
    "no old object": "oldObject == null",
    "the request": "request.operation == 'CREATE' && request.resource.resource == 'deployments' && "
    "request.kind.kind == 'Deployment' && request.namespace == 'default' && !request.dryRun",
    "the user": "request.userInfo.username == 'admin' && 'system:masters' in request.userInfo.groups",
    "no subresource": "!has(request.subResource)",
    "options": "request.options.kind == 'CreateOptions'",
    "the namespace": "namespaceObject.metadata.labels['team'] == 'blue'",
    "the authorizer": "authorizer.group('apps').resource('deployments').namespace('x').check('get').allowed()",
    "of the request": "authorizer.requestResource.check('delete').allowed()",
    "a service account": "!authorizer.serviceAccount('default', 'x').group('').resource('pods').check('get').allowed()",
}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_what_expressions_can_look_at(cluster: Cluster, expression: str) -> None:
    cluster.check(expression)
    cluster.write(deployment())
    opposite = Cluster()
    opposite.check(f"!({expression})")
    assert "failed expression" in opposite.refused().message


def test_a_deletion_has_only_an_old_object(cluster: Cluster) -> None:
    cluster.check("object == null && oldObject.metadata.name == 'a'")
    obj = deployment().object
    cluster.write(write("deployments", None, group="apps", kind="Deployment", operation="DELETE", old=obj))


def test_variables_are_computed_when_used_and_can_use_each_other(cluster: Cluster) -> None:
    variables = [
        {"name": "replicas", "expression": "object.spec.replicas"},
        {"name": "broken", "expression": "object.nothing"},
        {"name": "twice", "expression": "variables.replicas * 2"},
    ]
    cluster.check("variables.twice <= 6", variables=variables)
    cluster.write(deployment(3))
    assert "failed expression: variables.twice <= 6" in cluster.refused(deployment(4)).message


def test_a_variable_that_fails_is_named(cluster: Cluster) -> None:
    cluster.check("variables.x == 1", variables=[{"name": "x", "expression": "object.nothing"}])
    assert cluster.refused().message.endswith(
        DENIED + "expression 'variables.x == 1' resulted in error: composited variable \"x\" fails to "
        "evaluate: no such key: nothing"
    )


# Who is asked


SELECTIONS: dict[str, tuple[Object, Object, bool]] = {
    "everything": ({}, {}, True),
    "another resource": ({"resourceRules": [rule(resources=["pods"])]}, {}, False),
    "this name": ({"resourceRules": [rule(resourceNames=["a"])]}, {}, True),
    "another name": ({"resourceRules": [rule(resourceNames=["b"])]}, {}, False),
    "excluded": ({"excludeResourceRules": [rule(resources=["deployments"])]}, {}, False),
    "another excluded": ({"excludeResourceRules": [rule(resources=["pods"])]}, {}, True),
    "namespace": ({"namespaceSelector": {"matchLabels": {"team": "red"}}}, {}, False),
    "object": ({"objectSelector": {"matchLabels": {"app": "y"}}}, {}, False),
    "binding for all": ({}, {"matchResources": {}}, True),
    "binding for another namespace": (
        {}, {"matchResources": {"namespaceSelector": {"matchLabels": {"team": "red"}}}}, False,
    ),
    "binding for another resource": ({}, {"matchResources": {"resourceRules": [rule(resources=["pods"])]}}, False),
}  # fmt: skip


@pytest.mark.parametrize(("match", "binding", "asked"), SELECTIONS.values(), ids=SELECTIONS)
def test_policies_are_asked_about_what_they_and_their_binding_select(
    cluster: Cluster, match: Object, binding: Object, asked: bool
) -> None:
    cluster.policy(match=match, validations=[{"expression": "false"}])
    cluster.binding(**binding)
    if asked:
        cluster.refused()
    else:
        cluster.write(deployment())


def test_an_unbound_policy_does_nothing(cluster: Cluster) -> None:
    cluster.policy(validations=[{"expression": "false"}])
    cluster.binding(policy="another")
    cluster.write(deployment())


def test_match_conditions_narrow_it_down(cluster: Cluster) -> None:
    cluster.check("false", matchConditions=[{"name": "c", "expression": "object.spec.replicas > 10"}])
    cluster.write(deployment())
    cluster.refused(deployment(11))


def test_an_equivalent_version_is_converted(cluster: Cluster) -> None:
    only = rule(apiGroups=["autoscaling"], apiVersions=["v2"], resources=["horizontalpodautoscalers"])
    cluster.check(
        "request.kind.version == 'v2' && request.requestKind.version == 'v1' && object.apiVersion == 'autoscaling/v2'"
        " && object.spec.metrics[0].resource.target.averageUtilization < 60",
        match={"resourceRules": [only]},
    )
    obj: Object = {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a"},
        "spec": {
            "scaleTargetRef": {"kind": "D", "name": "d"},
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 50,
        },
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    }
    about = {"group": "autoscaling", "kind": "HorizontalPodAutoscaler"}
    cluster.write(write("horizontalpodautoscalers", obj, **about))
    obj["spec"]["targetCPUUtilizationPercentage"] = 60
    cluster.refused(write("horizontalpodautoscalers", obj, **about))


# What follows


def test_actions_decide_what_follows(cluster: Cluster) -> None:
    cluster.policy(validations=[{"expression": "false", "message": "no"}])
    cluster.binding("w", validationActions=["Warn", "Audit"])
    attributes = cluster.write(deployment())
    warning = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'w': no"
    assert attributes.warnings == [warning]
    failures = orjson.loads(attributes.annotations["validation.policy.admission.k8s.io/validation_failure"])
    assert failures == [
        {
            "message": "no",
            "policy": "p",
            "binding": "w",
            "expressionIndex": 0,
            "validationActions": ["Warn", "Audit"],
        }
    ]


def test_annotations_are_collected_over_bindings(cluster: Cluster) -> None:
    cluster.policy(
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        auditAnnotations=[
            {"key": "who", "valueExpression": "string(params.data.who)"},
            {"key": "nothing", "valueExpression": "null"},
        ],
    )
    for name in ("x", "y"):
        cluster.stored.add("", "configmaps", name, kind="ConfigMap", apiVersion="v1", data={"who": name})
        cluster.binding(name, paramRef={"name": name, "namespace": "default"})
    assert cluster.write(deployment()).annotations == {"p/who": "x, y"}


def test_a_policy_that_does_not_apply_notes_nothing(cluster: Cluster) -> None:
    cluster.policy(
        matchConditions=[{"name": "c", "expression": "object.spec.replicas > 10"}],
        auditAnnotations=[{"key": "k", "valueExpression": "'v'"}],
    )
    cluster.binding()
    assert cluster.write(deployment()).annotations == {}
    assert cluster.write(deployment(11)).annotations == {"p/k": "v"}


# Parameters

KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


def with_params(cluster: Cluster, ref: Object, **spec: Any) -> None:
    for name, most in (("small", "3"), ("large", "9")):
        cluster.stored.add(
            "", "configmaps", name, kind="ConfigMap", apiVersion="v1", data={"most": most},
            metadata={"labels": {"size": name, "kind": "limit"}},
        )  # fmt: skip
    expression = {"expression": "object.spec.replicas <= int(params.data.most)"}
    cluster.policy(paramKind=KIND, validations=[expression], **spec)
    cluster.binding(paramRef=ref)


PARAMS: dict[str, tuple[Object, bool]] = {
    "small": ({"name": "small"}, False),
    "large": ({"name": "large"}, True),
    "selected": ({"selector": {"matchLabels": {"size": "large"}}}, True),
    "all must be met": ({"selector": {"matchLabels": {"kind": "limit"}}}, False),
    "missing, allowed": ({"name": "gone", "parameterNotFoundAction": "Allow"}, True),
}


@pytest.mark.parametrize(("ref", "allowed"), PARAMS.values(), ids=PARAMS)
def test_parameters_come_from_objects(cluster: Cluster, ref: Object, allowed: bool) -> None:
    with_params(cluster, ref)
    if allowed:
        cluster.write(deployment())
    else:
        cluster.refused()


def test_missing_parameters_can_deny(cluster: Cluster) -> None:
    with_params(cluster, {"name": "gone", "parameterNotFoundAction": "Deny"})
    assert cluster.refused().message.endswith(
        DENIED + "failed to configure binding: no params found for policy binding with `Deny` "
        "parameterNotFoundAction"
    )


def test_namespaced_parameters_need_a_namespace(cluster: Cluster) -> None:
    with_params(cluster, {"name": "small"})
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}
    error = cluster.refused(write("nodes", node, kind="Node", namespace=""))
    assert error.message.endswith(
        "failed to configure binding: cannot use namespaced paramRef in policy binding that matches "
        "cluster-scoped resources"
    )


def test_a_param_kind_nobody_serves(cluster: Cluster) -> None:
    cluster.policy(paramKind={"apiVersion": "example.com/v1", "kind": "Limit"}, validations=[])
    cluster.binding(paramRef={"name": "x"})
    assert cluster.refused().message.endswith(
        "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'"
    )


# Failures


FAILURES: dict[str, tuple[Object, str]] = {
    "at run time": (
        {"validations": [{"expression": "object.nothing == 1"}]},
        "expression 'object.nothing == 1' resulted in error: no such key: nothing",
    ),
    "in a condition": (
        {
            "validations": [{"expression": "false"}],
            "matchConditions": [{"name": "c", "expression": "object.no == 1"}],
        },
        "expression 'object.no == 1' resulted in error: no such key: no",
    ),
    "of the type": (
        {"validations": [{"expression": "1"}]},
        "compilation error: must evaluate to bool but got int",
    ),
    "in an annotation": (
        {"auditAnnotations": [{"key": "k", "valueExpression": "string(object.no)"}]},
        "expression 'string(object.no)' resulted in error: no such key: no",
    ),
}


@pytest.mark.parametrize(("spec", "message"), FAILURES.values(), ids=FAILURES)
def test_what_cannot_be_said_denies_unless_failures_are_ignored(
    cluster: Cluster, spec: Object, message: str
) -> None:
    cluster.policy(**spec)
    cluster.binding()
    assert cluster.refused().message.endswith(DENIED + message)
    lenient = Cluster()
    lenient.policy(failurePolicy="Ignore", **spec)
    lenient.binding()
    assert lenient.write(deployment()).warnings == []


def test_an_expensive_policy_is_stopped(cluster: Cluster) -> None:
    numbers = "[1,2,3,4,5,6,7,8,9,10]"
    loop = "true"
    for depth in range(7):
        loop = f"{numbers}.all(x{depth}, {loop})"
    cluster.check(loop)
    assert "operation cancelled: actual cost limit exceeded" in cluster.refused().message


def test_many_policies_share_no_budget_but_many_validations_do(cluster: Cluster) -> None:
    numbers = "[1,2,3,4,5,6,7,8,9,10]"
    loop = "true"
    for depth in range(5):
        loop = f"{numbers}.all(x{depth}, {loop})"
    cluster.check(*[loop] * 40)
    assert cluster.refused().message.endswith(
        DENIED
        + "validation failed due to running out of cost budget, no further validation rules will be run"
    )


def test_a_missing_namespace_ends_it(cluster: Cluster) -> None:
    cluster.check("true")
    error = cluster.refused(deployment(namespace="gone"))
    assert (error.code, error.message) == (404, 'namespaces "gone" not found')


def test_a_name_to_be_generated_is_shown_as_far_as_it_is_known(cluster: Cluster) -> None:
    cluster.check("false")
    attributes = deployment(name="")
    assert attributes.object is not None
    attributes.object["metadata"] = {"generateName": "a-"}
    assert cluster.refused(attributes).message.startswith('deployments.apps "a-" is forbidden: ')
