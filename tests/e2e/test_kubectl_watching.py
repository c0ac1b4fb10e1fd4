"""kubectl get --watch shows changes as others make them, and ends when asked to."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.support.kubectl import Kubectl
from tests.support.manifests import config_map, deployment

pytestmark = pytest.mark.slow

Watch = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def watching(kubectl: Kubectl) -> Iterator[Watch]:
    """Starts `kubectl get … --watch`; ends what is left."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        started.append(kubectl.start("get", *arguments, "--watch"))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    """The next line; pytest's timeout bounds the wait."""
    assert process.stdout
    return process.stdout.readline().rstrip("\n")


def test_every_change_is_shown(kubectl: Kubectl, watching: Watch) -> None:
    kubectl.create(config_map("there"))
    watch = watching("cm", "--output-watch-events")
    assert line(watch).split() == ["EVENT", "NAME", "DATA", "AGE"]
    assert line(watch).split()[:2] == ["ADDED", "there"]
    kubectl("create", "cm", "new")
    assert line(watch).split()[:2] == ["ADDED", "new"]
    kubectl("label", "cm", "new", "a=b")
    assert line(watch).split()[:2] == ["MODIFIED", "new"]
    kubectl("delete", "cm", "there")
    assert line(watch).split()[:2] == ["DELETED", "there"]
    watch.send_signal(signal.SIGINT)
    _, err = watch.communicate(timeout=20)
    assert err == ""


def test_rows_of_the_table_follow(kubectl: Kubectl, watching: Watch) -> None:
    kubectl.create(deployment("web", replicas=1))
    watch = watching("deployment", "web")
    assert line(watch).split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert line(watch).split()[:2] == ["web", "0/1"]
    kubectl("scale", "deployment", "web", "--replicas=4")
    assert line(watch).split()[:2] == ["web", "0/4"]


def test_objects_enter_and_leave_a_selector(kubectl: Kubectl, watching: Watch) -> None:
    kubectl.create(config_map("a", {"in": "yes"}), config_map("b"))
    watch = watching("cm", "-l", "in=yes", "--output-watch-events", "--no-headers")
    assert line(watch).split()[:2] == ["ADDED", "a"]
    kubectl("label", "cm", "b", "in=yes")
    assert line(watch).split()[:2] == ["ADDED", "b"]
    kubectl("label", "cm", "a", "in-")
    assert line(watch).split()[:2] == ["DELETED", "a"]


def test_watch_from_the_past_tells_what_happened_since(kubectl: Kubectl) -> None:
    kubectl.create(config_map("before"))
    path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"
    version = kubectl("get", "--raw", path).json["metadata"]["resourceVersion"]
    kubectl("create", "cm", "after")
    watch = f"{path}?watch=1&resourceVersion={version}&timeoutSeconds=1"
    events = [json.loads(text) for text in kubectl("get", "--raw", watch).lines]
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("ADDED", "after")]
