from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from steersman.highlander.metrics import HighlanderMetrics
from steersman.highlander.state import ControllerPhase, WorkloadKind
from tests.support.highlander import PretendedTenant, lively

#: What the public project exposes.
PUBLIC = [
    "is_leader",
    "last_leader_transition_timestamp_seconds",
    "db_lock_ttl_seconds",
    "workload_status",
    "cluster_health",
    "controller_state",
    "process_status",
    "service_status",
    "persistent_status",
    "cronjob_status",
    "leadership_transitions",
    "leadership_acquisitions",
    "leadership_losses",
    "leadership_failed_attempts",
    "workload_operations",
    "workload_errors",
    "failover",
    "failover_errors",
    "db_operations",
    "db_errors",
    "workload_retry_attempts",
    "workload_retry_success",
    "leadership_duration_seconds",
    "workload_startup_duration_seconds",
    "workload_shutdown_duration_seconds",
    "failover_duration_seconds",
    "db_latency_seconds",
]


def scraped(*tenants: PretendedTenant) -> dict[tuple[str, ...], float]:
    """Values by name and the labels' values, sorted by the labels' names."""
    text, _ = HighlanderMetrics({one.board.controller.tenant: one.board for one in tenants}).render()
    return {
        (
            sample.name.removeprefix("k8_highlander_"),
            *(value for _, value in sorted(sample.labels.items())),
        ): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_every_family_of_the_public_project_is_there_from_the_start() -> None:
    text, _ = HighlanderMetrics({"default": PretendedTenant().board}).render()
    names = {family.name for family in text_string_to_metric_families(text.decode())}
    assert [name for name in PUBLIC if f"k8_highlander_{name}" not in names] == []
    assert scraped(PretendedTenant())["leadership_losses_total", "default"] == 0


def test_a_leader_and_a_follower() -> None:
    leader, follower = lively("a"), lively("b", leads=False)
    leader.margin_s = 9.0
    values = scraped(leader, follower)
    assert (values["is_leader", "a"], values["is_leader", "b"]) == (1, 0)
    assert (values["lease_margin_seconds", "a"], values["lease_margin_seconds", "b"]) == (9, 0)
    assert (values["renew_lag_seconds", "a"], values["epoch", "a"]) == (6, 42)
    assert values["controller_state", ControllerPhase.LEADING, "a"] == 1
    assert values["controller_state", ControllerPhase.FOLLOWING, "a"] == 0
    assert values["cluster_health", "primary", "a"] == 1


def test_a_lease_that_ran_out_is_no_leadership() -> None:
    tenant = PretendedTenant()
    tenant.margin_s = 0
    assert scraped(tenant)["is_leader", "default"] == 0


def test_workloads() -> None:
    values = scraped(lively())
    # labels by their names: name, namespace, tenant, type
    assert values["workload_status", "ledger-writer", "singletons", "default", "process"] == 1
    assert values["workload_status", "fx-importer", "singletons", "default", "process"] == 0
    assert values["workload_restarts", "fx-importer", "singletons", "default", "process"] == 7
    assert values["workload_failed", "legacy-gateway", "singletons", "default", "service"] == 1
    assert values["process_status", "ledger-writer", "singletons", "default"] == 1
    assert ("service_status", "ledger-writer", "singletons", "default") not in values


def test_counters_and_durations_of_the_board() -> None:
    tenant = PretendedTenant()
    board = tenant.board
    board.count("db_errors_total", operation="renew", error_type="timeout")
    board.count("db_errors_total", 2, operation="renew", error_type="timeout")
    board.count("something_new_total", kind="x")
    board.observe("db_latency_seconds", 0.02, operation="renew")
    board.observe("db_latency_seconds", 100_000.0, operation="renew")
    values = scraped(tenant)
    # error_type, operation, tenant
    assert values["db_errors_total", "timeout", "renew", "default"] == 3
    assert values["something_new_total", "x", "default"] == 1
    # le, operation, tenant
    assert values["db_latency_seconds_bucket", "0.01", "renew", "default"] == 0
    assert values["db_latency_seconds_bucket", "0.025", "renew", "default"] == 1
    assert values["db_latency_seconds_bucket", "+Inf", "renew", "default"] == 2
    assert values["db_latency_seconds_sum", "renew", "default"] == 100_000.02


def test_values_of_labels_are_escaped() -> None:
    tenant = PretendedTenant()
    hostile = 'a"} 1\nb\\c'
    tenant.show(WorkloadKind.PROCESS, hostile)
    assert scraped(tenant)["workload_ready", hostile, "singletons", "default", "process"] == 1


def test_the_process_itself_is_among_them() -> None:
    assert scraped(PretendedTenant())["process_open_fds",] > 0
