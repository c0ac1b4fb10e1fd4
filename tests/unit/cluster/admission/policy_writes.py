"""Policies, bindings and the plugins that enforce them, for tests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.cluster.admission import AdmissionChain, AdmissionPlugin, Attributes
from steersman.cluster.admission.policies import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
from steersman.cluster.admission.webhooks import AdmissionContext
from steersman.cluster.admission.webhooks.expressions import AdmissionExpressions
from steersman.cluster.auth.authorization import Masters
from steersman.cluster.auth.users import MASTERS_GROUP, User
from steersman.objects.status import StatusError

from .conftest import Stored, write
from .webhook_server import GROUP, TYPES, rule

Object = dict[str, Any]
ADMIN = User("admin", groups=(MASTERS_GROUP,))


class Cluster:
    """Stored policies, and writes they are asked about."""

    def __init__(self) -> None:
        self.stored = Stored()
        self.stored.add("", "namespaces", "default", metadata={"labels": {"team": "blue"}})
        self.context = AdmissionContext(self.stored, TYPES, AdmissionExpressions(), Masters())

    def policy(
        self, name: str = "p", *, mutating: bool = False, match: Object | None = None, **spec: Any
    ) -> None:
        constraints = {
            "resourceRules": [rule()],
            "namespaceSelector": {},
            "objectSelector": {},
            **(match or {}),
        }
        kind = "mutating" if mutating else "validating"
        self.stored.add(
            GROUP, f"{kind}admissionpolicies", name, spec={"matchConstraints": constraints, **spec}
        )

    def binding(self, name: str = "b", policy: str = "p", *, mutating: bool = False, **spec: Any) -> None:
        kind = "mutating" if mutating else "validating"
        if not mutating:
            spec.setdefault("validationActions", ["Deny"])
        self.stored.add(GROUP, f"{kind}admissionpolicybindings", name, spec={"policyName": policy, **spec})

    def check(self, *validations: Object | str, **spec: Any) -> None:
        """A validating policy and its binding."""
        rules = [{"expression": each} if isinstance(each, str) else each for each in validations]
        self.policy(validations=rules, **spec)
        self.binding()

    def mutate(self, *mutations: tuple[str, str], name: str = "p", **spec: Any) -> None:
        """A mutating policy and its binding; mutations are (patchType, expression)."""
        made = []
        for kind, expression in mutations:
            field = "jsonPatch" if kind == "JSONPatch" else "applyConfiguration"
            made.append({"patchType": kind, field: {"expression": expression}})
        self.policy(name, mutating=True, mutations=made, **spec)
        self.binding(f"{name}-b", name, mutating=True)

    def write(self, attributes: Attributes, *others: AdmissionPlugin) -> Attributes:
        chain = AdmissionChain(
            [MutatingAdmissionPolicy(self.context), ValidatingAdmissionPolicy(self.context), *others]
        )

        async def run() -> None:
            await chain.admit(attributes)
            await chain.validate(attributes)

        asyncio.run(run())
        return attributes

    def refused(self, attributes: Attributes | None = None) -> StatusError:
        with pytest.raises(StatusError) as caught:
            self.write(attributes or deployment())
        return caught.value


def deployment(replicas: int = 5, **rest: Any) -> Attributes:
    obj = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "a", "namespace": "default", "labels": {"app": "x"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "x"}},
            "strategy": {},
            "template": {
                "metadata": {},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]},
            },
        },
        "status": {},
    }
    rest.setdefault("user", ADMIN)
    return write("deployments", obj, group="apps", kind="Deployment", **rest)
