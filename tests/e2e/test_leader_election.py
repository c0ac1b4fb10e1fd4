"""The official Python client's leader election: two contenders, one leader, and another when it dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.steer import DEADLINE_S, Steer

pytestmark = pytest.mark.slow

ANNOTATION = "control-plane.alpha.kubernetes.io/leader"
PATHS = {
    "lease": "/apis/coordination.k8s.io/v1/namespaces/{}/leases/lock",
    "configmap": "/api/v1/namespaces/{}/configmaps/lock",
}


class Contender:
    """A contender in a process of its own, as replicas of an operator are."""

    def __init__(self, server: Steer, kind: str, namespace: str, identity: str) -> None:
        self.identity = identity
        self.process = subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("contender.py")),
                kind,
                "lock",
                namespace,
                identity,
            ],
            env={"PATH": os.environ["PATH"], "KUBECONFIG": str(server.kubeconfig)},
            stdout=subprocess.PIPE,
            text=True,
        )

    def said(self) -> str:
        """The next thing it says; nothing when it takes too long."""
        assert self.process.stdout
        hanging = threading.Timer(DEADLINE_S, self.process.kill)
        hanging.start()
        try:
            return self.process.stdout.readline().strip()
        finally:
            hanging.cancel()

    def kill(self) -> str:
        """End it without a word to anyone; what it had still said."""
        self.process.kill()
        return self.process.communicate()[0].strip()


@contextmanager
def contending(server: Steer, kind: str, namespace: str, identity: str) -> Iterator[Contender]:
    contender = Contender(server, kind, namespace, identity)
    try:
        yield contender
    finally:
        if contender.process.poll() is None:
            contender.kill()
        if contender.process.stdout:
            contender.process.stdout.close()


def lock(server: Steer, kind: str, namespace: str) -> Any:
    return server.api.get(PATHS[kind].format(namespace)).json


def holder(kind: str, found: Any) -> str:
    if kind == "lease":
        return str(found["spec"]["holderIdentity"])
    return str(json.loads(found["metadata"]["annotations"][ANNOTATION])["holderIdentity"])


@pytest.mark.parametrize("kind", list(PATHS))
def test_one_leads_and_the_other_follows_when_it_dies(server: Steer, namespace: str, kind: str) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(contending(server, kind, namespace, "one"))
        assert first.said() == "leads"
        second = stack.enter_context(contending(server, kind, namespace, "two"))
        before = lock(server, kind, namespace)
        assert holder(kind, before) == "one"
        assert first.kill() == "", "it led to its end"
        assert second.said() == "leads"
        after = lock(server, kind, namespace)
        assert holder(kind, after) == "two"
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])


def test_a_leader_whose_lease_is_taken_stops(server: Steer, namespace: str) -> None:
    with contending(server, "lease", namespace, "one") as leader:
        assert leader.said() == "leads"
        taken = {"spec": {"holderIdentity": "other", "renewTime": "2999-01-01T00:00:00.000000Z"}}
        answer = server.api.request(
            "PATCH", PATHS["lease"].format(namespace), taken, content_type="application/merge-patch+json"
        )
        assert answer.status == 200, answer.text
        assert leader.said() == "stopped"
