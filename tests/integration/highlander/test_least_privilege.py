"""Controllers need every permission that the manifests give them, and no other.

Many lives in one cluster, at the same time and each in a namespace of its own: one with all permissions, and
others that lack some, until each was missed. In each life workloads of every kind start, are paused, resumed,
taken out of the configuration and stopped.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import ClientError
from steersman.highlander.api import logs_of
from steersman.highlander.config import TenantConfig
from steersman.highlander.custom import CustomWorkloads
from steersman.highlander.errors import NotLeader
from steersman.highlander.live import RESOURCES as WATCHED
from steersman.highlander.live import LiveObjects
from steersman.highlander.permissions import rules_by_namespace
from steersman.highlander.resources import WorkloadProcess, definitions
from steersman.highlander.tenant import Tenant
from steersman.testing import Cluster, virtual_time
from steersman.testing.faults import Faults
from steersman.testing.faulty import FaultyTransport

pytestmark = pytest.mark.slow

Object = dict[str, Any]
ACCOUNT = "highlander"
POD: Object = {"image": "image"}
WORKLOADS: Object = {
    "processes": [{"name": "ledger", **POD}],
    "cronJobs": [
        {
            "name": "often",
            "schedule": "* * * * *",
            "annotations": {"simulated.steersman.dev/run-time": "never"},
            **POD,
        }
    ],
    "services": [{"name": "web", "ports": [{"containerPort": 80}], **POD}],
    "persistentSets": [{"name": "store", "ports": [{"containerPort": 80}], **POD}],
}


@dataclass(frozen=True)
class Permission:
    group: str
    resource: str
    verb: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f'cannot {self.verb} resource "{self.resource}" in API group "{self.group}"'

    @property
    def rule(self) -> Object:
        names = {"resourceNames": list(self.names)} if self.names else {}
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb], **names}


def permissions(rules: list[Object]) -> Iterator[Permission]:
    for rule in rules:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                yield Permission(rule["apiGroups"][0], resource, verb, tuple(rule.get("resourceNames", ())))


def apart(permission: Permission) -> tuple[str, ...]:
    """Those with the same answer are taken away together: lacking one does not hide that another is lacking."""
    if permission.verb in ("list", "watch", "delete"):
        return (permission.verb,)
    if permission.resource == "leases" or (permission.resource, permission.verb) == ("configmaps", "get"):
        return permission.resource, permission.verb
    beside = permission.resource in ("configmaps", "pods/log", "services")
    return "beside" if beside else "workloads", permission.verb


def config(namespace: str, **fields: Any) -> TenantConfig:
    times = {"leaseDuration": 30, "renewDeadline": 20, "retryPeriod": 5}
    given = {"tenant": namespace, "namespace": namespace, "storageType": "lease", "election": times}
    return TenantConfig.model_validate({"id": "one", "workloads": WORKLOADS, **given, **fields})


@dataclass
class Life:
    """A controller in its namespace, and what it was heard to say."""

    namespace: str
    granted: list[Permission]
    missing: list[Permission]
    fields: Object = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    was_ready: bool = False
    tenant: Tenant = field(init=False)

    async def begin(self, cluster: Cluster, scope: Scope) -> None:
        admin = cluster.client()
        account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": self.namespace}
        role = "ClusterRole" if self.fields else "Role"
        where = {} if self.fields else {"namespace": self.namespace}
        rbac = "rbac.authorization.k8s.io"
        named = {"name": f"highlander-{self.namespace}", **where}
        reference = {"apiGroup": rbac, "kind": role, "name": named["name"]}
        for one in (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}},
            {"apiVersion": "v1", "kind": "ServiceAccount",
             "metadata": {"name": ACCOUNT, "namespace": self.namespace}},
            {"apiVersion": f"{rbac}/v1", "kind": role, "metadata": named,
             "rules": [each.rule for each in self.granted if each not in self.missing]},
            {"apiVersion": f"{rbac}/v1", "kind": f"{role}Binding", "metadata": named, "roleRef": reference,
             "subjects": [account]},
        ):  # fmt: skip
            await admin.create(one)
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{ACCOUNT}/token"
        token = json.loads(await admin.request("POST", path, body={"spec": {}}))["status"]["token"]
        client = cluster.client(token=token)
        faults = Faults()
        for resource in (*WATCHED, WorkloadProcess.resource_type):
            # Servers that cannot stream what there is are asked for lists.
            faults.refuse(422, verb="watch", resource=resource.plural, times=1)
        client.carry(lambda transport: FaultyTransport(transport, faults))
        given = config(self.namespace, **self.fields)
        wide = given.follows_custom_resources
        live = LiveObjects(client, cluster.clock, None if wide else {self.namespace})
        self.tenant = Tenant(given, client, live, clock=cluster.clock)
        self.tenant.board.subscribe(self._hear)
        self._logs = logs_of(client)
        scope.start(live.run())
        scope.start(self.tenant.run())
        if wide:
            scope.start(CustomWorkloads(self.tenant, client, live, cluster.clock).run())

    async def look_at_logs(self) -> None:
        for pod in self.tenant.board.pods[:1]:
            with suppress(ClientError):
                try:
                    await self._logs(pod, pod.containers[0], 5)
                except ClientError as error:
                    self.heard.append(str(error))

    async def pause(self, paused: bool) -> None:
        act = self.tenant.pause if paused else self.tenant.resume
        for workload in ("service/{}/web", "cronjob/{}/often"):
            try:
                await act(workload.format(self.namespace))
            except (ClientError, NotLeader, KeyError) as error:
                self.heard.append(str(error))

    def look(self) -> None:
        states = self.tenant.board.workloads.values()
        self.was_ready = bool(states) and all(one.ready for one in states)

    @property
    def refusals(self) -> list[str]:
        return [text for text in self.heard if re.search(r"cannot \w+ resource", text)]

    def _hear(self, what: str, value: Any) -> None:
        for name in ("last_error", "storage_error", "cluster_error"):
            if text := getattr(value, name, ""):
                self.heard.append(text)


async def live_all(lives: list[Life], before: list[Object], during: list[Object]) -> None:
    """All of them at once."""
    async with Cluster(controllers=("all",), nodes=1) as cluster, Scope() as scope:
        admin, clock = cluster.client(), cluster.clock
        for one in before:
            await admin.create(one)
        for life in lives:
            await life.begin(cluster, scope)
        for one in during:
            await admin.create(one)
        await clock.advance(10)
        for life in lives:
            life.look()
        # By then a run of the cron job is under way.
        await clock.advance(55)
        for paused in (True, False):
            for life in lives:
                await life.pause(paused)
            await clock.advance(5)
        for life in lives:
            await life.look_at_logs()
            one_left = {"processes": WORKLOADS["processes"], "cronJobs": WORKLOADS["cronJobs"]}
            life.tenant.configure(config(life.namespace, **{"workloads": one_left, **life.fields}))
        await clock.advance(5)
        for life in lives:
            life.tenant.configure(config(life.namespace, **{"workloads": {}, **life.fields}))
        for one in during:
            with suppress(ClientError):
                await admin.delete(WorkloadProcess, one["metadata"]["name"], one["metadata"]["namespace"])
        await clock.advance(10)
        for life in lives:
            life.tenant.stop()
        await clock.advance(20)


def listen(caplog: pytest.LogCaptureFixture, lives: list[Life]) -> None:
    """What the logs say of each."""
    for record in caplog.records:
        for life in lives:
            if f"system:serviceaccount:{life.namespace}:{ACCOUNT}" in (text := record.getMessage()):
                life.heard.append(text)


def check(lives: list[Life]) -> None:
    assert lives[0].was_ready
    assert lives[0].refusals == []
    unmissed = [
        str(missing)
        for life in lives
        for missing in life.missing
        if not any(str(missing) in text for text in life.refusals)
    ]
    assert unmissed == []


def test_every_permission_is_missed_when_it_is_taken_away(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def granted(namespace: str) -> list[Permission]:
        (rules,) = rules_by_namespace([config(namespace)]).values()
        return list(permissions(rules))

    lives = [Life("whole", granted("whole"), [])]
    for number, which in enumerate(dict.fromkeys(map(apart, lives[0].granted))):
        mine = granted(f"part-{number}")
        lives.append(Life(f"part-{number}", mine, [each for each in mine if apart(each) == which]))

    @virtual_time
    async def run() -> None:
        await live_all(lives, [], [])

    run()
    listen(caplog, lives)
    check(lives)


def test_so_is_every_permission_on_custom_resources(caplog: pytest.LogCaptureFixture) -> None:
    """Shown for one of the kinds: the others are handled as it is."""
    caplog.set_level(logging.INFO)
    custom = {"customResources": True, "workloads": {}}
    kind = WorkloadProcess.resource_type

    def granted(namespace: str) -> list[Permission]:
        found = rules_by_namespace([config(namespace, **custom)]).values()
        return [each for rules in found for each in permissions(rules)]

    def of_the_kind(permission: Permission) -> bool:
        return permission.group == kind.group and permission.resource.partition("/")[0] == kind.plural

    lives = [Life("whole", granted("whole"), [], custom)]
    for number, missing in enumerate(filter(of_the_kind, lives[0].granted)):
        lives.append(Life(f"part-{number}", granted(f"part-{number}"), [missing], custom))
    objects = [
        WorkloadProcess.from_object(
            {
                "metadata": {"name": "own", "namespace": life.namespace},
                "spec": {**POD, "tenant": life.namespace},
            }
        ).to_object()
        for life in lives
    ]

    @virtual_time
    async def run() -> None:
        await live_all(lives, definitions(public=True), objects)

    run()
    listen(caplog, lives)
    check(lives)
