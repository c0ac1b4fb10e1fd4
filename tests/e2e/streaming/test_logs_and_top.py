"""`kubectl logs` and `kubectl top`, with real kubectl and containers that are real processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.kubectl import Kubectl
from tests.support.waiting import soon

PATIENCE_S = 60.0


def pod(name: str, *scripts: str, **more: Any) -> dict[str, Any]:
    """A pod whose containers (`c0`, `c1`, …) run these scripts."""
    containers = [
        {"name": f"c{number}", "image": "host/sh", "args": ["-c", script]}
        for number, script in enumerate(scripts)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"test": name}},
        "spec": {
            "containers": containers,
            "terminationGracePeriodSeconds": 0,
            "restartPolicy": "Never",
            **more,
        },
    }


def until(what: Callable[[], Any]) -> Any:
    return soon(what, PATIENCE_S, every_s=0.1)


def ran(kubectl: Kubectl, made: dict[str, Any]) -> str:
    """The name of a pod that has come to its end."""
    kubectl.create(made)
    name: str = made["metadata"]["name"]
    until(lambda: kubectl.get(f"pod {name}")["status"]["phase"] in ("Succeeded", "Failed"))
    return name


def files_of(uid: str, folder: Path) -> list[str]:
    """What there is of a pod on disk; it may be going away."""
    found = (f"{place}/{name}" for place, folders, files in os.walk(folder) for name in (*folders, *files))
    return [path for path in found if uid in path]


def running(kubectl: Kubectl, made: dict[str, Any]) -> str:
    kubectl.create(made)
    name: str = made["metadata"]["name"]
    until(lambda: kubectl.get(f"pod {name}")["status"]["phase"] == "Running")
    return name


def test_logs_show_what_a_container_wrote(kubectl: Kubectl) -> None:
    name = ran(kubectl, pod("writes", "echo one; echo two >&2; sleep 0.1; printf 'three'"))
    assert sorted(kubectl("logs", name).lines) == ["one", "three", "two"]
    assert kubectl("logs", name, "--tail=1").lines == ["three"]
    assert kubectl("logs", name, "--tail=0").out == ""
    assert kubectl("logs", name, "--limit-bytes=2").out in ("on", "tw")
    assert len(kubectl("logs", name, "--since=1h").lines) == 3
    assert kubectl("logs", name, "--since-time=2100-01-01T00:00:00Z").out == ""
    stamp, text = kubectl("logs", name, "--timestamps", "--tail=1").lines[0].split(" ")
    assert (len(stamp), text) == (30, "three")
    # Following what is over ends by itself.
    assert len(kubectl("logs", "-f", name).lines) == 3


def test_one_of_several_containers_has_to_be_named_or_all_are_asked_for(kubectl: Kubectl) -> None:
    name = ran(kubectl, pod("pair", "echo first", "echo second"))
    assert kubectl("logs", name, "-c", "c1").lines == ["second"]
    told = kubectl("logs", name, "--all-containers", "--prefix")
    assert sorted(told.lines) == [f"[pod/{name}/c0] first", f"[pod/{name}/c1] second"]
    assert kubectl("logs", "-l", f"test={name}", "-c", "c0").lines == ["first"]
    assert f"container c9 is not valid for pod {name}" in kubectl.fails("logs", name, "-c", "c9")


def test_the_run_before_has_logs_too(kubectl: Kubectl) -> None:
    script = "echo my pid is $$; sleep 0.5; exit 1"
    name = running(kubectl, pod("restarts", script, restartPolicy="Always"))
    error = kubectl.attempt("logs", name, "--previous")
    if error.code:
        assert f'previous terminated container "c0" in pod "{name}" not found' in error.err
    until(lambda: kubectl.get(f"pod {name}")["status"]["containerStatuses"][0]["restartCount"] >= 1)
    assert kubectl("logs", name, "--previous").lines[0].startswith("my pid is ")


def test_there_is_a_reason_for_having_no_logs(kubectl: Kubectl) -> None:
    made = pod("waits", "true")
    made["spec"]["containers"][0]["image"] = "example.com/nothing:1"
    kubectl.create(made)
    until(lambda: "image" in kubectl.attempt("logs", "waits").err)
    error = kubectl.fails("logs", "waits")
    assert 'container "c0" in pod "waits" is waiting to start: ' in error
    assert kubectl.fails("logs", "gone") == (
        f'error: error from server (NotFound): pods "gone" not found in namespace "{kubectl.namespace}"'
    )


def test_a_thousand_lines_a_second_are_followed(kubectl: Kubectl) -> None:
    script = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); [ $((i%100)) = 0 ] && sleep 0.1; done"
    kubectl.create(pod("chatty", script))
    until(lambda: kubectl.attempt("logs", "chatty", "--tail=1").code == 0)
    following = kubectl.start("logs", "-f", "chatty")
    out, err = following.communicate(timeout=PATIENCE_S)
    assert following.returncode == 0, err
    assert out.splitlines() == [f"line {number}" for number in range(3000)]


def test_binary_and_long_lines_come_through(kubectl: Kubectl) -> None:
    name = ran(kubectl, pod("long", "head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"))
    assert kubectl("logs", name).lines == ["x" * 100_000, "end"]
    assert kubectl("logs", name, "--tail=2").lines == ["x" * 100_000, "end"]


def test_top_shows_what_nodes_and_pods_use(kubectl: Kubectl) -> None:
    running(kubectl, pod("busy", "while :; do :; done", "sleep 1000"))
    running(kubectl, pod("idle", "sleep 1000"))

    def listed() -> bool:
        done = kubectl.attempt("top", "pod", "busy", "--containers")
        return done.code == 0 and len(done.rows) == 2 and milli(done.rows[0][2]) >= 50

    def milli(cores: str) -> int:
        return int(cores.removesuffix("m"))

    until(listed)
    pods = kubectl("top", "pod", "--sort-by=cpu").rows
    assert pods[0][0] == "busy"
    assert "idle" in [row[0] for row in pods]
    assert kubectl("top", "pod", "-l", "test=idle").rows[0][0] == "idle"
    (node,) = kubectl("top", "node").rows
    assert milli(node[1]) > 0
    assert kubectl("get", "nodes.metrics.k8s.io").lines[0].split() == ["NAME", "CPU", "MEMORY", "WINDOW"]
    summary = kubectl("get", "--raw", f"/api/v1/nodes/{node[0]}/proxy/stats/summary").json
    assert {one["podRef"]["name"] for one in summary["pods"]} >= {"busy", "idle"}
    kubectl("delete", "pod", "busy", "idle", "--now")


def test_logs_stay_as_long_as_the_pod_and_no_longer(kubectl: Kubectl, folder: Path) -> None:
    name = ran(kubectl, pod("passes", "echo by"))
    kubectl("label", "pod", name, "seen=yes")
    assert kubectl("logs", name).lines == ["by"]
    uid = kubectl.get(f"pod {name}")["metadata"]["uid"]
    assert files_of(uid, folder)
    kubectl("delete", "pod", name)
    until(lambda: not files_of(uid, folder))


def test_a_log_in_several_files_is_read_as_one(kubectl: Kubectl, folder: Path) -> None:
    count = 60_000
    name = ran(kubectl, pod("large", f"seq -f 'line %.0f {'x' * 150}' {count}"))
    uid = kubectl.get(f"pod {name}")["metadata"]["uid"]
    assert len([path for path in files_of(uid, folder) if "/0.log" in path]) > 1
    numbers = [line.split(" ")[1] for line in kubectl("logs", name).lines]
    assert numbers == [str(number) for number in range(1, count + 1)]
    assert len(kubectl("logs", name, "--tail=50000").lines) == 50_000
