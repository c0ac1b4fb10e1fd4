"""Who wins when a setting is said twice, and how mistakes are told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from steersman.highlander.config import TenantConfig, load
from steersman.highlander.config.models import RaftSection
from steersman.highlander.errors import ConfigError
from steersman.highlander.storage import _raft

PUBLIC = """
id: controller-1
namespace: apps
tenant: shop
port: 9090
storageType: redis
redis:
  addr: redis:6379
  db: 2
cluster:
  name: primary
  kubeconfig: ""
terminationGracePeriod: 30s
workloads:
  processes:
  - name: worker
    image: busybox:1.36
    script:
      commands: ["echo start", "sleep 3600"]
      shell: /bin/sh
    env: {LEVEL: 3, VERBOSE: true}
    resources: {cpuRequest: 100m, memoryRequest: 64Mi, cpuLimit: 200m, memoryLimit: 128Mi}
    restartPolicy: Never
    maxRestarts: 3
    gracePeriod: 20s
  cronJobs:
  - name: report
    schedule: "*/5 * * * *"
    image: busybox:1.36
    command: [date]
  services:
  - name: api
    image: nginx
    replicas: 1
    healthCheckPath: /health
    healthCheckPort: 80
    readinessTimeout: 60s
    ports: [{name: http, containerPort: 80, servicePort: 8080}]
  persistentSets:
  - name: store
    image: redis
    serviceName: store
    persistentVolumes: [{name: data, mountPath: /data, storageClassName: standard, size: 1Gi}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "highlander.yaml"


def test_a_file_of_the_public_project_works_unchanged(file: Path) -> None:
    file.write_text(PUBLIC)
    loaded = load(file, environment={})
    (config,) = loaded.tenants
    assert (config.id, config.tenant, config.port, config.redis.db) == ("controller-1", "shop", 9090, 2)
    assert config.termination_grace_period == timedelta(seconds=30)
    assert [spec.name for spec in config.workloads] == ["worker", "report", "api", "store"]
    assert config.workloads.processes[0].env == {"LEVEL": "3", "VERBOSE": "true"}
    assert config.workloads.processes[0].grace_s == 20
    assert not loaded.warnings


@pytest.mark.parametrize(
    ("flags", "environment", "port"),
    [
        pytest.param({}, {}, 9090, id="file"),
        pytest.param({}, {"HIGHLANDER_PORT": "9091"}, 9091, id="environment-over-file"),
        pytest.param({"PORT": "9092"}, {"HIGHLANDER_PORT": "9091"}, 9092, id="flag-over-environment"),
        pytest.param({"PORT": None}, {"HIGHLANDER_PORT": ""}, 9090, id="empty-says-nothing"),
    ],
)
def test_flags_win_over_the_environment_and_that_over_the_file(
    file: Path, flags: dict[str, str | None], environment: dict[str, str], port: int
) -> None:
    file.write_text(PUBLIC)
    assert load(file, flags=flags, environment=environment).process.port == port


def test_nothing_but_the_environment_is_enough() -> None:
    config = load(None, environment={"HIGHLANDER_TENANT": "a", "HIGHLANDER_REDIS_ADDR": "r:1"}).process
    assert (config.tenant, config.redis.addr) == ("a", "r:1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("prot: 80", ":1: prot: there is no such key; did you mean port?", id="unknown-key"),
        pytest.param(
            "workloads:\n  processes:\n  - name: a\n    image: b\n    imgae: c",
            ":5: workloads.processes[0].imgae: there is no such key; did you mean image?",
            id="unknown-key-deep-down",
        ),
        pytest.param("id: x\nport: many", ":2: port: Input should be a valid integer", id="wrong-type"),
        pytest.param(
            "workloads:\n  processes:\n  - image: b\n    name: Not_A_Name",
            ":4: workloads.processes[0].name: a lowercase RFC 1123 label",
            id="bad-name",
        ),
        pytest.param("workloads: {processes: [{name: a}]}", "process a: image is missing", id="no-image"),
        pytest.param(
            "workloads: {cronJobs: [{name: a, image: b}]}", "cronjob a: schedule is missing", id="no-schedule"
        ),
        pytest.param(
            "workloads: {processes: [{name: a, image: b}, {name: a, image: c}]}",
            "two workloads have the name process/default/a",
            id="same-name-twice",
        ),
        pytest.param("storageType: db", "storageType db needs databaseURL", id="no-database"),
        pytest.param(
            "election: {leaseDuration: 1s, renewDeadline: 2s}",
            "leaseDuration > renewDeadline > retryPeriod",
            id="unsafe-times",
        ),
        pytest.param("a: [", ":1: ", id="no-yaml"),
        pytest.param("- a", ":1: the file must be a mapping", id="no-mapping"),
        pytest.param("tenants: []", ":1: tenants: must be a list", id="no-tenants"),
        pytest.param("tenants: [{tenant: a}, {tenant: a}]", "there are two tenants 'a'", id="tenant-twice"),
        pytest.param(
            "workloads: {processes: [{name: a, image: b, script: {commands: [c]}, command: [d]}]}",
            "script and command (or args) exclude each other",
            id="two-ways-to-start",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file, environment={})
    assert str(file) in str(caught.value)
    assert message in str(caught.value)


def test_all_mistakes_are_told_at_once(file: Path) -> None:
    file.write_text("prot: 80\nport: x\n")
    with pytest.raises(ConfigError) as caught:
        load(file, flags={"REDIS_DB": "y"}, environment={})
    assert len(str(caught.value).splitlines()) == 3
    assert "the flag --redis-db" in str(caught.value)


def test_a_secret_in_the_file_works_is_warned_about_and_never_shown(file: Path) -> None:
    file.write_text("redis:\n  password: swordfish\n")
    loaded = load(file, environment={})
    password = loaded.process.redis.password
    assert password is not None
    assert password.get_secret_value() == "swordfish"
    assert loaded.warnings == (
        f"{file}:2: redis.password: a secret in the file: use passwordFile or HIGHLANDER_REDIS_PASSWORD",
    )
    assert "swordfish" not in repr(loaded)


def test_a_secret_of_the_environment_is_not_warned_about(file: Path) -> None:
    file.write_text("id: a")
    loaded = load(file, environment={"HIGHLANDER_REDIS_PASSWORD": "swordfish"})
    assert not loaded.warnings
    assert "swordfish" not in repr(loaded)


def test_tenants_have_what_stands_beside_their_list_in_common(file: Path) -> None:
    file.write_text(
        "redis: {addr: r:1, db: 3}\nnamespace: n\ntenants:\n- tenant: a\n  redis: {db: 4}\n- tenant: b\n"
    )
    first, second = load(file, environment={}).tenants
    assert (first.tenant, first.redis.addr, first.redis.db, first.namespace) == ("a", "r:1", 4, "n")
    assert (second.tenant, second.redis.addr, second.redis.db) == ("b", "r:1", 3)


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load(Path("nowhere.yaml"), environment={})


SEVERAL = "storageType: lease\ntenants: [{tenant: a, namespace: x}, {tenant: b, namespace: y}]\n"


def test_of_several_tenants_one_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "several.yaml"
    file.write_text(SEVERAL)
    assert [one.tenant for one in load(file, environment={}).tenants] == ["a", "b"]
    chosen = load(file, environment={"HIGHLANDER_TENANT": "a"}, flags={"TENANT": "b"})
    assert [(one.tenant, one.namespace) for one in chosen.tenants] == [("b", "y")]
    with pytest.raises(ConfigError, match=r"several\.yaml:2: tenants: there is no tenant 'c'"):
        load(file, environment={"HIGHLANDER_TENANT": "c"})


ADDRESSES = [
    ("redis", {"redis": {"addr": "redis:6379", "password": "secret"}}, "redis:6379"),
    ("redis by URL", {"redis": {"addr": "rediss://me:secret@redis:6379/1?a=secret"}}, "rediss://redis:6379/1"),
    ("database", {"storageType": "db", "databaseURL": "postgresql://me:secret@db/x?password=secret"},
     "postgresql://db/x"),
    ("password with ?", {"storageType": "db", "databaseURL": "postgresql://me:sec?ret@db/x"}, "postgresql://"),
    ("database by DSN", {"storageType": "db", "databaseURL": "host=db password=secret"}, ""),
    ("lease", {"storageType": "lease", "tenant": "shop", "namespace": "ns"}, "ns/shop"),
]  # fmt: skip


@pytest.mark.parametrize("fields, address", [one[1:] for one in ADDRESSES], ids=[one[0] for one in ADDRESSES])
def test_where_the_lock_is_is_told_without_secrets(fields: dict[str, Any], address: str) -> None:
    assert TenantConfig.model_validate(fields).storage_address == address


INCOMPLETE = """storageType: db
workloads:
  processes:
    - {name: a, image: x}
    - {name: a, image: x}
    - {image: x}
  cronJobs:
    - {name: c, image: x}
  services:
    - name: s
"""


def test_every_workload_that_lacks_something_is_named(tmp_path: Path) -> None:
    file = tmp_path / "incomplete.yaml"
    file.write_text(INCOMPLETE)
    with pytest.raises(ConfigError) as caught:
        load(file, environment={})
    assert str(caught.value).replace(f"{file}:", "").splitlines() == [
        "1: storageType: storageType db needs databaseURL, databaseURLFile or HIGHLANDER_DATABASE_URL",
        "5: workloads.processes[1].name: two workloads have the name process/default/a",
        "6: workloads.processes[2].name: a process has no name",
        "8: workloads.cronJobs[0].schedule: cronjob c: schedule is missing",
        "10: workloads.services[0].image: service s: image is missing",
    ]


def test_what_stands_beside_a_reference_is_warned_about(tmp_path: Path) -> None:
    file = tmp_path / "references.yaml"
    reference = "workloadCRDRef: {name: own}"
    file.write_text(
        f"workloads: {{processes: [{{name: a, {reference}}}, {{name: b, image: x, {reference}}}]}}"
    )
    assert load(file, environment={}).warnings == (
        f"{file}:1: workloads.processes[1]: the fields beside workloadCRDRef are not used",
    )


@pytest.mark.parametrize("where, found", [({}, "shop"), ({"namespace": "ops"}, "ops")], ids=["shop", "ops"])
def test_raft_nodes_are_looked_for_where_they_run(where: dict[str, str], found: str) -> None:
    section = RaftSection.model_validate({"service": "nodes", **where})
    assert _raft(section, "lock", "shop").settings.namespace == found
