"""Which log is meant, and what of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest

from steersman.cluster.node.api.errors import NodeRequestRefused
from steersman.cluster.node.api.logs import LogRequest, logged_container, wanted_logs
from steersman.cluster.node.container_logs import ContainerLogOptions

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
STDERR = frozenset((b"stderr",))


@pytest.mark.parametrize(
    ("query", "previous", "options"),
    [
        ("", False, ContainerLogOptions()),
        ("follow=true&timestamps=1", False, ContainerLogOptions(follow=True, timestamps=True)),
        ("follow=false&previous=0", False, ContainerLogOptions()),
        ("previous=true&tailLines=0", True, ContainerLogOptions(tail_lines=0)),
        ("sinceSeconds=60", False, ContainerLogOptions(since=datetime(2026, 11, 16, 11, 59, tzinfo=UTC))),
        ("sinceTime=2026-11-16T12:00:00Z&limitBytes=5", False, ContainerLogOptions(since=NOW, limit_bytes=5)),
        ("stream=Stderr", False, ContainerLogOptions(streams=STDERR)),
        ("stream=All&tailLines=3", False, ContainerLogOptions(tail_lines=3)),
        ("insecureSkipTLSVerifyBackend=true", False, ContainerLogOptions()),
    ],
)
def test_a_query_says_which_lines(query: str, previous: bool, options: ContainerLogOptions) -> None:
    assert wanted_logs(parse_qs(query), NOW) == LogRequest(previous, options)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("tailLines=many", 400),
        ("sinceTime=yesterday", 400),
        ("sinceSeconds=1000000000000000", 400),
        ("tailLines=-1", 422),
        ("limitBytes=0", 422),
        ("sinceSeconds=0", 422),
        ("sinceSeconds=5&sinceTime=2026-11-16T12:00:00Z", 422),
        ("stream=Stdin", 422),
        ("stream=Stdout&tailLines=1", 422),
    ],
)
def test_queries_that_make_no_sense_are_refused(query: str, status: int) -> None:
    with pytest.raises(NodeRequestRefused) as refused:
        wanted_logs(parse_qs(query), NOW)
    assert refused.value.status == status


def container(state: dict[str, Any], last: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": "c", "state": state, "lastState": last or {}, **more}


def terminated(container_id: str) -> dict[str, Any]:
    return {"terminated": {"containerID": container_id, "exitCode": 1}}


@pytest.mark.parametrize(
    ("status", "previous", "found"),
    [
        pytest.param(container({"running": {}}, containerID="e://2"), False, "e://2", id="running"),
        pytest.param(container(terminated("e://2")), False, "e://2", id="ended"),
        pytest.param(
            container({"waiting": {"reason": "CrashLoopBackOff"}}, terminated("e://1")),
            False,
            "e://1",
            id="between two runs: the last",
        ),
        pytest.param(
            container({"terminated": {"exitCode": 128}}, terminated("e://1")),
            False,
            "e://1",
            id="never started again",
        ),
        pytest.param(
            container({"running": {}}, terminated("e://1"), containerID="e://2"), True, "e://1", id="previous"
        ),
    ],
)
def test_the_status_names_the_container(status: dict[str, Any], previous: bool, found: str) -> None:
    assert logged_container("p", {"containerStatuses": [status]}, "c", previous) == found


def test_init_and_ephemeral_containers_have_logs_too() -> None:
    running = container({"running": {}}, containerID="e://1")
    assert logged_container("p", {"initContainerStatuses": [running]}, "c", False) == "e://1"
    assert logged_container("p", {"ephemeralContainerStatuses": [running]}, "c", False) == "e://1"


@pytest.mark.parametrize(
    ("status", "previous", "message"),
    [
        (
            container({"waiting": {"reason": "ContainerCreating"}}),
            False,
            'container "c" in pod "p" is waiting to start: ContainerCreating',
        ),
        (
            container({"waiting": {"reason": "ErrImagePull"}}),
            False,
            'container "c" in pod "p" is waiting to start: image can\'t be pulled',
        ),
        (
            container({"waiting": {"reason": "ImagePullBackOff"}}),
            False,
            'container "c" in pod "p" is waiting to start: trying and failing to pull image',
        ),
        (
            container({"running": {}}, containerID="e://1"),
            True,
            'previous terminated container "c" in pod "p" not found',
        ),
        (container({"terminated": {"exitCode": 128}}), False, 'container "c" in pod "p" is terminated'),
        (container({}), False, 'container "c" in pod "p" is waiting to start - no logs yet'),
        ({"name": "other"}, False, 'container "c" in pod "p" is not available'),
    ],
)
def test_without_logs_there_is_a_reason(status: dict[str, Any], previous: bool, message: str) -> None:
    with pytest.raises(NodeRequestRefused) as refused:
        logged_container("p", {"containerStatuses": [status]}, "c", previous)
    assert (refused.value.status, refused.value.message) == (400, message)
