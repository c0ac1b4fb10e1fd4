"""How webhooks are declared, what their entry in a configuration says, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.builders import Pod
from steersman.objects.custom import CustomResource, Model
from steersman.operator import AdmissionRequest, Operator, OperatorError


class Spec(Model):
    image: str = ""


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Spec


class Zone(CustomResource, group="example.com", version="v1", scope="Cluster"):
    spec: Spec


async def check(request: AdmissionRequest[Any]) -> None:
    return None


async def check_twice(request: AdmissionRequest[Any]) -> None:
    return None


def test_the_chain_goes_on_after_each() -> None:
    op = Operator(WebApp)
    op.validate(check).mutate(check).validate(kind=Pod)(check).validate(check_twice).requeue_after(5)
    assert [(hook.path, hook.name, hook.mutating) for hook in op.definition.hooks] == [
        ("/validate/example.com-v1-webapp", "check.webapps.example.com", False),
        ("/mutate/example.com-v1-webapp", "check.webapps.example.com", True),
        ("/validate/core-v1-pod", "check.pods.core", False),
        ("/validate/example.com-v1-webapp/check-twice", "check-twice.webapps.example.com", False),
    ]
    op.definition.check()
    assert not op.definition.reconciles


def test_an_entry_says_everything_the_api_has_a_default_for() -> None:
    op = Operator(Zone)
    op.mutate(
        operations=("CREATE",),
        subresources=("", "status"),
        failure_policy="Ignore",
        namespace_selector={"matchLabels": {"a": "b"}},
        match_conditions={"not-nodes": "!('system:nodes' in request.userInfo.groups)"},
        timeout_s=3,
    )(check)
    assert op.definition.hooks[0].entry({"url": "https://here/"}) == {
        "name": "check.zones.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://here/"},
        "rules": [
            {
                "apiGroups": ["example.com"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["zones", "zones/status"],
                "scope": "Cluster",
            }
        ],
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 3,
        "namespaceSelector": {"matchLabels": {"a": "b"}},
        "objectSelector": {},
        "matchConditions": [
            {"name": "not-nodes", "expression": "!('system:nodes' in request.userInfo.groups)"}
        ],
        "reinvocationPolicy": "IfNeeded",
    }


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"operations": ("PATCH",)}, "there is no operation 'PATCH'"),
        ({"operations": ()}, "at least one operation"),
        ({"timeout_s": 31}, "1 to 30 s, not 31"),
        ({"subresources": ("scale",)}, "objects and their status, not 'scale'"),
    ],
)
def test_what_the_api_would_refuse_is_refused_at_once(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OperatorError, match=problem):
        Operator(WebApp).validate(**options)(check)


def test_two_of_one_name_cannot_be_told_apart() -> None:
    op = Operator(WebApp)
    op.validate(check)
    with pytest.raises(OperatorError, match="two webhooks check"):
        op.validate(check)


def test_a_function_that_is_not_async_is_refused() -> None:
    def plain(request: AdmissionRequest[WebApp]) -> None:
        return None

    with pytest.raises(OperatorError, match="`async def`: plain is not"):
        Operator(WebApp).validate(plain)  # type: ignore[arg-type]
