"""What tests of replicated operators share: a server that notes every write of a child, and apps to deploy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steersman.cli.loading import load
from steersman.client import Client
from steersman.objects.builders import Deployment, Service
from steersman.operator import fencing_policy
from steersman.operator.terms import TERM
from tests.support.steer import Steer, running

from .operators import EXAMPLES
from .replicas import until

__all__ = ["Apps", "Audited", "audited_server", "terms_of_writes"]

WEBAPP = load(str(EXAMPLES / "06-webapp" / "webapp.py")).module
WebApp: Any = WEBAPP.WebApp

AUDITED = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "RequestResponse",
            "verbs": ["create", "update", "patch"],
            "resources": [
                {"group": "apps", "resources": ["deployments"]},
                {"group": "", "resources": ["services"]},
            ],
        },
        {"level": "None"},
    ],
}


@dataclass(frozen=True)
class Audited:
    """A server that notes every attempt to write a child."""

    server: Steer
    log: Path

    def refused_terms(self, namespace: str) -> set[str]:
        """The terms of attempts that the policy refused."""
        whole, _, _ = self.log.read_text().rpartition("\n")
        events = [json.loads(line) for line in whole.splitlines()]
        return {
            event["requestObject"]["metadata"]["annotations"][TERM]
            for event in events
            if event["objectRef"]["namespace"] == namespace and event["responseStatus"]["code"] == 403
        }


@contextmanager
def audited_server(folder: Path) -> Iterator[Audited]:
    """A server without controllers that refuses writes of former leaders."""
    policy, log = folder / "policy.yaml", folder / "audit.log"
    policy.write_text(json.dumps(AUDITED))
    options = ("--controllers", "none", "--audit-policy", str(policy), "--audit-log", str(log))
    with running(*options, data=folder / "cluster") as server:
        for manifest in (WebApp.crd(), *fencing_policy([WEBAPP.op])):
            _post(server, manifest)
        yield Audited(server, log)


def _post(server: Steer, manifest: dict[str, Any]) -> None:
    plurals = {
        "CustomResourceDefinition": "customresourcedefinitions",
        "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
        "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    }
    answer = server.api.post(f"/apis/{manifest['apiVersion']}/{plurals[manifest['kind']]}", manifest)
    assert answer.status == 201, answer.text


class Apps:
    """What the user wants, and whether it is so."""

    def __init__(self, client: Client, namespace: str, names: Sequence[str]) -> None:
        self.names = names
        self._client = client
        self._namespace = namespace
        self._version = 0

    @property
    def image(self) -> str:
        return f"nginx:1.{self._version}"

    async def create(self) -> None:
        for name in self.names:
            metadata = {"name": name, "namespace": self._namespace}
            await self._client.create(
                WebApp.from_object({"metadata": metadata, "spec": {"image": self.image}})
            )
        await self.converge()

    def next_version(self) -> None:
        self._version += 1

    async def roll_out(self, names: Iterable[str]) -> None:
        """All at once, so that the operator has work to do when this is over."""
        patch = {"spec": {"image": self.image}}
        await asyncio.gather(*(self._client.patch(WebApp, name, patch, self._namespace) for name in names))

    async def converge(self) -> None:
        await until(self._converged, f"all run {self.image}")

    async def _converged(self) -> bool:
        apps = await self._client.list(WebApp, self._namespace)
        deployments = await self._client.list(Deployment, self._namespace)
        images = [each.spec["template"]["spec"]["containers"][0]["image"] for each in deployments]
        seen = all(app.status.observed_generation == app.metadata.generation for app in apps)
        return seen and images == [self.image] * len(self.names)


async def terms_of_writes(client: Client, namespace: str, since: str) -> list[int]:
    """The terms of all writes to children, in the order in which they were made."""
    terms: dict[int, int] = {}

    async def collect(kind: type[Deployment | Service]) -> None:
        history = client.watch(kind, namespace, resource_version=since, timeout_s=1, bookmarks=False)
        async with history as events:
            async for event in events:
                metadata = event.decode()["metadata"]
                terms[int(metadata["resourceVersion"])] = int(metadata["annotations"][TERM])

    await asyncio.gather(collect(Deployment), collect(Service))
    return [terms[version] for version in sorted(terms)]
