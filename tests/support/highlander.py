"""A tenant that only pretends: a board to write on, and controls that note what they were asked for.

`python -m tests.support.highlander` serves a whole pretended life, to look at the dashboard with.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

from steersman.highlander.api import Access, Api
from steersman.highlander.errors import NotLeader
from steersman.highlander.state import (
    Board,
    ControllerPhase,
    ControllerState,
    PodView,
    Transition,
    WorkloadKind,
    WorkloadPhase,
    WorkloadState,
)
from tests.support.waiting import pass_time

LEASE_S = 15.0


class PretendedTenant:
    """`Controls` whose board a test writes."""

    def __init__(self, tenant: str = "default", *, leads: bool = True) -> None:
        self.asked: list[str] = []
        self.margin_s: float = 12.0
        now = time.time()
        self.board = Board(
            ControllerState(
                id="controller-1",
                boot_nonce="b00t",
                tenant=tenant,
                namespace="singletons",
                cluster_name="primary",
                storage_type="redis",
                phase=ControllerPhase.LEADING if leads else ControllerPhase.FOLLOWING,
                is_leader=leads,
                leader_since=now - 93784 if leads else None,
                leader="controller-1_b00t" if leads else "controller-2_c0de",
                epoch=42,
                lease_duration_s=LEASE_S,
                started=now - 95000,
                storage_healthy=True,
                cluster_healthy=True,
            ),
            time.time,
        )
        self.board.measure_margin(lambda: self.margin_s)

    def show(self, kind: WorkloadKind, name: str, **fields: Any) -> WorkloadState:
        state = WorkloadState(
            kind,
            name,
            fields.pop("namespace", "singletons"),
            self.board.controller.tenant,
            **{"phase": WorkloadPhase.RUNNING, "ready": True, "epoch": 42, **fields},
        )
        self.board.show(state)
        return state

    async def pause(self, workload: str) -> None:
        self._act("pause", workload, phase=WorkloadPhase.PAUSED, paused=True, ready=False, pods=())

    async def resume(self, workload: str) -> None:
        self._act("resume", workload, phase=WorkloadPhase.RUNNING, paused=False, ready=True)

    async def restart(self, workload: str) -> None:
        self._act("restart", workload, restarts=self.board.workloads[workload].restarts + 1)

    async def step_down(self, reason: str) -> None:
        self.asked.append("step-down")
        self._lead()
        self.board.transition("", reason, self.board.controller.epoch)
        self.board.change(is_leader=False, phase=ControllerPhase.FOLLOWING, leader_since=None)

    async def drain(self) -> None:
        self.asked.append("drain")
        self.board.change(is_leader=False, phase=ControllerPhase.DRAINED, leader_since=None)

    async def undrain(self) -> None:
        self.asked.append("undrain")
        self.board.change(phase=ControllerPhase.FOLLOWING)

    async def reload(self) -> None:
        self.asked.append("reload")

    def _act(self, action: str, workload: str, **fields: Any) -> None:
        known = self.board.workloads[workload]
        self._lead()
        self.asked.append(f"{action} {workload}")
        self.board.show(replace(known, **fields))

    def _lead(self) -> None:
        if not self.board.controller.is_leader:
            raise NotLeader("this controller is not the leader")


def pod_of(kind: WorkloadKind, workload: str, name: str, **fields: Any) -> PodView:
    now = time.time()
    return PodView(
        **{
            "name": name,
            "namespace": "singletons",
            "workload": workload,
            "kind": kind,
            "phase": "Running",
            "ready": True,
            "node": "node-a",
            "ip": "10.244.1.17",
            "epoch": 42,
            "controller_id": "controller-1",
            "created": now - 93700,
            "started": now - 93690,
            "containers": (workload,),
            "images": ("registry.example/ledger/app:1.8.3",),
            **fields,
        }
    )


def lively(tenant: str = "default", *, leads: bool = True) -> PretendedTenant:
    """A tenant that has seen something."""
    pretended = PretendedTenant(tenant, leads=leads)
    process, cron, service, persistent = WorkloadKind
    show = pretended.show
    show(process, "ledger-writer", pods=(pod_of(process, "ledger-writer", "ledger-writer-pod"),))
    show(process, "mail-poller", restarts=3,
         pods=(pod_of(process, "mail-poller", "mail-poller-pod", restarts=3, node="node-b", ip="10.244.2.9",
                      containers=("mail-poller", "metrics-sidecar")),))  # fmt: skip
    show(process, "fx-importer", phase=WorkloadPhase.BACKING_OFF, ready=False, restarts=7,
         last_error="container fx-importer ended with exit code 137 (OOMKilled) after 48 s",
         pods=(pod_of(process, "fx-importer", "fx-importer-pod", phase="Failed", ready=False,
                      reason="OOMKilled", node="node-c", ip="10.244.3.4"),))  # fmt: skip
    show(cron, "nightly-report", details={"schedule": "15 2 * * *", "suspended": False})
    show(cron, "cache-warmer", phase=WorkloadPhase.PAUSED, ready=False, paused=True,
         details={"schedule": "*/10 * * * *", "suspended": True})  # fmt: skip
    show(service, "session-broker", details={"replicas": 1, "readyReplicas": 1},
         pods=(pod_of(service, "session-broker", "session-broker-7d9c5b8f6-x2x7q", node="node-b"),))  # fmt: skip
    show(service, "legacy-gateway", phase=WorkloadPhase.REFUSED, ready=False, epoch=0,
         last_error="Deployment singletons/legacy-gateway is there and is not ours: it has no managed-by label")  # fmt: skip
    show(persistent, "queue-store", phase=WorkloadPhase.STARTING, ready=False,
         details={"replicas": 1, "readyReplicas": 0},
         pods=(pod_of(persistent, "queue-store", "queue-store-0", phase="Pending", ready=False, ip="",
                      reason="ContainerCreating", node="node-a", started=None),))  # fmt: skip
    _remember(pretended.board)
    return pretended


def _remember(board: Board) -> None:
    """A history that did not begin just now."""
    now = time.time()
    for age_s, before, after, reason, epoch in (
        (612000, "", "controller-2_c0de", "elected", 38),
        (431000, "controller-2_c0de", "controller-1_a11e", "lease expired", 39),
        (260000, "controller-1_a11e", "", "step-down asked for over the API", 39),
        (259990, "", "controller-3_d1ce", "elected", 40),
        (121000, "controller-3_d1ce", "controller-2_c0de", "hand-over to a higher priority", 41),
        (93784, "controller-2_c0de", "controller-1_b00t", "lease expired", 42),
    ):
        board._history.append(Transition(now - age_s, before, after, reason, epoch))
    for key, known in board._workloads.items():
        age_s = 93690 if known.ready or known.paused else 48
        board._workloads[key] = replace(known, since=now - age_s)
    board.change(
        last_transition=now - 93784,
        last_reason="lease expired",
        last_leader="controller-2_c0de",
        transitions=6,
        failovers=3,
    )


async def pretended_logs(pod: PodView, container: str, lines: int) -> str:
    return "".join(
        f"2026-11-16T14:{i // 60:02}:{i % 60:02}Z {container} epoch={pod.epoch} line {i} <b>&amp;</b>\n"
        for i in range(min(lines, 40))
    )


async def _main(port: int) -> None:
    api = Api(access=Access(environment={"HIGHLANDER_API_TOKEN": "opensesame"}))
    tenants = [lively(), lively("payments", leads=False), lively("reporting")]
    for tenant in tenants:
        api.add(tenant, pretended_logs)
    await api.start("127.0.0.1", port)
    print(f"http://127.0.0.1:{api.port}/", flush=True)
    while True:
        for tenant in tenants:
            tenant.margin_s = LEASE_S - (time.monotonic() % 5)
        await pass_time(0.1, "how often the tenants change")


if __name__ == "__main__":
    import sys

    asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
