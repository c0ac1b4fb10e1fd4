from __future__ import annotations

from pathlib import Path

import pytest

from steersman.raft.config import DEFAULT_PORT, NodeConfig
from steersman.raft.core import ConfigError
from steersman.raft.errors import SettingsError
from steersman.raft.state_machine import Located
from steersman.raft.storage import MemoryStorage
from steersman.raft.transport.tls import TlsFiles

PEERS = {0: "a=127.0.0.1:1000", 1: "10.0.0.2:1001"}


def test_a_chain_leaves_what_it_started_from():
    base = NodeConfig("c").node_id(1)
    changed = base.peers(PEERS).node_id(0).namespace("other")
    assert (base.node, base.settings.namespace) == (1, "default")
    assert (changed.node, changed.settings.namespace) == (0, "other")


@pytest.mark.parametrize(
    "node, expected",
    [
        pytest.param(0, Located("a", "127.0.0.1:1000"), id="named"),
        pytest.param(1, Located("10.0.0.2", "10.0.0.2:1001"), id="named by its host"),
    ],
)
def test_a_node_is_where_its_peers_find_it(node, expected):
    assert NodeConfig("c").peers(PEERS).node_id(node).located == expected


def test_a_node_that_the_peers_lack_is_refused():
    with pytest.raises(SettingsError, match="does not list node 2"):
        _ = NodeConfig("c").peers(PEERS).node_id(2).located


def test_a_statefulsets_pod_needs_nothing_but_the_service(monkeypatch):
    monkeypatch.setenv("POD_NAME", "web-3")
    config = NodeConfig("c").service_name("web-headless").namespace("prod")
    assert config.node == 3
    host = "web-3.web-headless.prod.svc.cluster.local"
    assert config.located == Located(host, f"{host}:{DEFAULT_PORT}")


@pytest.mark.parametrize(
    "config, expected",
    [
        pytest.param(NodeConfig("c").peers(PEERS).node_id(0), "127.0.0.1:1000", id="loopback"),
        pytest.param(NodeConfig("c").peers(PEERS).node_id(1).insecure(), "[::]:1001", id="asked for"),
        pytest.param(NodeConfig("c").peers(PEERS).node_id(1).tls("/x"), "[::]:1001", id="certificates"),
        pytest.param(
            NodeConfig("c").peers(PEERS).node_id(1).listen("127.0.0.1:5"),
            "127.0.0.1:5",
            id="listens on loopback",
        ),
    ],
)
def test_where_it_listens(config, expected):
    assert config.listen_address() == expected


@pytest.mark.parametrize("listen", ["", "0.0.0.0:1", "[::]:1", "10.0.0.2:1", "example:1"])
def test_plaintext_beyond_loopback_must_be_asked_for(listen):
    with pytest.raises(SettingsError, match="needs certificates"):
        NodeConfig("c").peers(PEERS).node_id(1).listen(listen).listen_address()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: NodeConfig(""), id="no name"),
        pytest.param(lambda: NodeConfig("c").node_id(-1), id="negative node"),
        pytest.param(lambda: NodeConfig("c").storage("rocksdb"), id="no folder"),
        pytest.param(lambda: NodeConfig("c").storage("paper"), id="no such storage"),
        pytest.param(lambda: NodeConfig("c").tls(), id="no certificates"),
        pytest.param(lambda: NodeConfig("c").tls(ca="x", cert="y"), id="no key"),
        pytest.param(lambda: NodeConfig("c").peers({0: "nowhere"}), id="no port"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make):
    with pytest.raises(SettingsError):
        make()


def test_timing_that_is_not_safe_is_refused():
    with pytest.raises(ConfigError):
        NodeConfig("c").timing(heartbeat_s=1.0, election_min_s=1.1, election_max_s=2.0)
    core = NodeConfig("c").timing(heartbeat_s=0.1, election_min_s=1.0, election_max_s=2.0).core(7)
    assert (core.id, core.heartbeat_s, core.lease_s) == (7, 0.1, 0.9)


def test_certificates_come_from_a_folder_or_three_files(tmp_path):
    folder = TlsFiles(tmp_path / "ca.crt", tmp_path / "tls.crt", tmp_path / "tls.key")
    assert NodeConfig("c").tls(tmp_path).settings.tls == folder
    assert NodeConfig("c").tls(ca="a", cert="b", key="k").settings.tls == TlsFiles(
        Path("a"), Path("b"), Path("k")
    )
    with pytest.raises(SettingsError, match=r"ca\.crt"):
        folder.read()


def test_without_a_folder_the_log_is_in_memory():
    assert isinstance(NodeConfig("c").open_storage(), MemoryStorage)
