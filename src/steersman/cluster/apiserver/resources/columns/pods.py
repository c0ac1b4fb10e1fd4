"""The tables of pods and pod templates: above all, the one word that says how a pod is doing.

A pod's status word is worked out from its phase, then overridden by the first init container that
is not done, else by the containers from last to first, and finally by its deletion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    NONE,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    condition,
    container_cells,
    label_text,
    name_of,
    seconds,
    since,
    wide,
)
from steersman.objects.kinds import Object
from steersman.objects.pod_lifecycle import is_sidecar

__all__ = ["TABLES", "completion_conditions"]

_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def completion_conditions(pod: Object) -> list[Object]:
    """The row conditions that let kubectl hide or grey out a pod that is over."""
    phase = at(pod, "status", "phase", default="")
    if phase not in _COMPLETED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}]


@dataclass(slots=True)
class _Restarts:
    """How often containers were restarted, and when one last ended."""

    count: int = 0
    last: str = ""

    def add(self, status: Object) -> None:
        self.count += status.get("restartCount", 0)
        finished = at(status, "lastState", "terminated", "finishedAt")
        if finished and (not self.last or seconds(self.last) < seconds(finished)):
            self.last = finished

    def cell(self, now: float) -> str:
        if self.count and self.last:
            return f"{self.count} ({since(self.last, now)} ago)"
        return str(self.count)


def _ending(terminated: Object) -> str:
    """Why a container ended: its reason, else its signal, else its exit code."""
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


@dataclass(slots=True)
class _PodSummary:
    """The cells of a pod that depend on each other, filled in by looking at its containers in order."""

    pod: Object
    reason: str
    ready: int
    restarts: _Restarts

    @classmethod
    def of(cls, pod: Object) -> _PodSummary:
        status = at(pod, "status", default={})
        reason = status.get("reason") or status.get("phase", "")
        for found in status.get("conditions") or ():
            if found.get("type") == "PodScheduled" and found.get("reason") == "SchedulingGated":
                reason = "SchedulingGated"
        summary = cls(pod, reason, 0, _Restarts())
        sidecar_restarts = _Restarts()
        initializing = summary._look_at_init_containers(sidecar_restarts)
        initialized = condition(pod, "Initialized")
        if not initializing or (initialized is not None and initialized.get("status") == "True"):
            summary.restarts = sidecar_restarts
            summary._look_at_containers()
        summary._look_at_deletion()
        return summary

    def _look_at_init_containers(self, sidecar_restarts: _Restarts) -> bool:
        """Stops at the first init container that is not done; says whether there was one."""
        containers = at(self.pod, "spec", "initContainers", default=())
        sidecars = {container.get("name") for container in containers if is_sidecar(container)}
        for number, status in enumerate(at(self.pod, "status", "initContainerStatuses", default=())):
            self.restarts.add(status)
            sidecar = status.get("name") in sidecars
            if sidecar:
                sidecar_restarts.add(status)
            terminated = at(status, "state", "terminated")
            waiting = at(status, "state", "waiting", "reason", default="")
            if terminated is not None and terminated.get("exitCode", 0) == 0:
                continue
            if sidecar and status.get("started"):
                self.ready += 1 if status.get("ready") else 0
                continue
            if terminated is not None:
                self.reason = "Init:" + _ending(terminated)
            elif waiting and waiting != "PodInitializing":
                self.reason = "Init:" + waiting
            else:
                self.reason = f"Init:{number}/{len(containers)}"
            return True
        return False

    def _look_at_containers(self) -> None:
        running = False
        error = ""
        for status in reversed(at(self.pod, "status", "containerStatuses", default=())):
            self.restarts.add(status)
            terminated = at(status, "state", "terminated")
            if waiting := at(status, "state", "waiting", "reason", default=""):
                self.reason = waiting
            elif terminated is not None:
                self.reason = _ending(terminated)
                if terminated.get("exitCode", 0) != 0:
                    error = self.reason
            elif status.get("ready") and at(status, "state", "running") is not None:
                running = True
                self.ready += 1
        if self.reason != "Completed":
            return
        # A pod with a container still running is not complete, whatever the others say.
        conditions = at(self.pod, "status", "conditions", default=())
        if running and any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
            self.reason = "Running"
        elif error:
            self.reason = error
        elif running:
            self.reason = "NotReady"

    def _look_at_deletion(self) -> None:
        if at(self.pod, "metadata", "deletionTimestamp") is None:
            return
        if at(self.pod, "status", "reason") == "NodeLost":
            self.reason = "Unknown"
        elif at(self.pod, "status", "phase") not in _COMPLETED:
            self.reason = "Terminating"


def _pod(pod: Object, now: float) -> Cells:
    summary = _PodSummary.of(pod)
    init_containers = at(pod, "spec", "initContainers", default=())
    total = len(at(pod, "spec", "containers", default=())) + sum(map(is_sidecar, init_containers))
    addresses = at(pod, "status", "podIPs", default=())
    return [
        name_of(pod),
        f"{summary.ready}/{total}",
        summary.reason,
        summary.restarts.cell(now),
        age(pod, now),
        (addresses[0].get("ip") if addresses else "") or NONE,
        at(pod, "spec", "nodeName") or NONE,
        at(pod, "status", "nominatedNodeName") or NONE,
        _readiness_gates(pod),
    ]


def _readiness_gates(pod: Object) -> str:
    gates: list[Any] = at(pod, "spec", "readinessGates", default=[])
    if not gates:
        return NONE
    found = [condition(pod, gate.get("conditionType", "")) for gate in gates]
    return f"{sum(c is not None and c.get('status') == 'True' for c in found)}/{len(gates)}"


def _pod_template(template: Object, now: float) -> Cells:
    labels = at(template, "template", "metadata", "labels", default={})
    return [name_of(template), *container_cells(at(template, "template", "spec")), label_text(labels)]


TABLES = {
    ("", "pods"): Table(
        (
            NAME,
            ColumnDefinition("Ready", "How many containers are ready, of all."),
            ColumnDefinition("Status", "How the pod is doing, in one word."),
            ColumnDefinition("Restarts", "How often its containers were restarted, and when last."),
            AGE,
            wide("IP", "The address of the pod."),
            wide("Node", "The node it runs on."),
            wide("Nominated Node", "The node on which preemption makes room for it."),
            wide("Readiness Gates", "How many readiness gates are open, of all."),
        ),
        _pod,
    ),
    ("", "podtemplates"): Table(
        (
            NAME,
            ColumnDefinition("Containers", "The names of the containers."),
            ColumnDefinition("Images", "The images of the containers."),
            ColumnDefinition("Pod Labels", "The labels given to pods."),
        ),
        _pod_template,
    ),
}
