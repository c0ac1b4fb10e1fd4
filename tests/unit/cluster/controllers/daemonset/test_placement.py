"""Which nodes get a daemon."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steersman.cluster.controllers.daemonset.placement import (
    DaemonNodeState,
    DaemonPlacement,
    pinned,
    target_node,
    tolerations,
)
from tests.unit.cluster.controllers.workload_objects import pod_state

Object = dict[str, Any]


def _node(name: str = "n1", taints: list[Object] | None = None, **labels: str) -> DaemonNodeState:
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints or []}}, DaemonNodeState
    )


def _daemon_set(**spec: Any) -> Object:
    return {"spec": {"template": {"spec": spec}}}


def _affine(*terms: Object) -> Object:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def _expression(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def _field(operator: str, *values: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "labels", "runs"),
    [
        pytest.param({}, {}, True, id="everywhere"),
        pytest.param({"nodeName": "n1"}, {}, True, id="this node"),
        pytest.param({"nodeName": "n2"}, {}, False, id="another node"),
        pytest.param({"nodeSelector": {"a": "b"}}, {"a": "b", "c": "d"}, True, id="selected"),
        pytest.param({"nodeSelector": {"a": "b"}}, {"a": "c"}, False, id="not selected"),
        pytest.param(_affine(_expression("a", "In", "x", "y")), {"a": "y"}, True, id="in"),
        pytest.param(_affine(_expression("a", "In", "x")), {}, False, id="not in"),
        pytest.param(_affine(_expression("a", "NotIn", "x")), {}, True, id="not in what is missing"),
        pytest.param(_affine(_expression("a", "NotIn", "x")), {"a": "x"}, False, id="in what it must not"),
        pytest.param(_affine(_expression("a", "Exists")), {"a": ""}, True, id="exists"),
        pytest.param(_affine(_expression("a", "DoesNotExist")), {"a": ""}, False, id="must not exist"),
        pytest.param(_affine(_expression("a", "Gt", "5")), {"a": "6"}, True, id="greater"),
        pytest.param(_affine(_expression("a", "Lt", "5")), {"a": "6"}, False, id="not less"),
        pytest.param(_affine(_expression("a", "Gt", "5")), {"a": "many"}, False, id="no number"),
        pytest.param(_affine(_field("In", "n1")), {}, True, id="by name"),
        pytest.param(_affine(_field("NotIn", "n1")), {}, False, id="not by name"),
        pytest.param(
            _affine(_expression("a", "Exists"), _field("In", "n1")), {}, True, id="one term is enough"
        ),
        pytest.param(_affine({}), {}, False, id="an empty term matches nothing"),
    ],
)
def test_nodes_are_selected(spec: Object, labels: dict[str, str], runs: bool) -> None:
    assert DaemonPlacement(_daemon_set(**spec)).judge(_node(**labels)) == (runs, runs)


@pytest.mark.parametrize(
    ("taint", "toleration", "verdict"),
    [
        pytest.param(("k", "v", "NoSchedule"), None, (False, True), id="no new ones"),
        pytest.param(("k", "v", "NoExecute"), None, (False, False), id="none at all"),
        pytest.param(("k", "v", "PreferNoSchedule"), None, (True, True), id="only a wish"),
        pytest.param(("k", "v", "NoExecute"), {"key": "k", "value": "v"}, (True, True), id="tolerated"),
        pytest.param(("k", "v", "NoExecute"), {"key": "k", "value": "w"}, (False, False), id="another value"),
        pytest.param(
            ("k", "v", "NoExecute"), {"operator": "Exists"}, (True, True), id="everything tolerated"
        ),
        pytest.param(
            ("k", "v", "NoExecute"),
            {"key": "k", "operator": "Exists", "effect": "NoSchedule"},
            (False, False),
            id="another effect",
        ),
        pytest.param(
            ("node.kubernetes.io/unschedulable", "", "NoSchedule"), None, (True, True), id="cordoned"
        ),
        pytest.param(("node.kubernetes.io/not-ready", "", "NoExecute"), None, (True, True), id="not ready"),
        pytest.param(
            ("node.kubernetes.io/network-unavailable", "", "NoSchedule"), None, (False, True), id="no network"
        ),
    ],
)
def test_taints(taint: tuple[str, str, str], toleration: Object | None, verdict: tuple[bool, bool]) -> None:
    node = _node(taints=[dict(zip(("key", "value", "effect"), taint, strict=True))])
    spec = {"tolerations": [toleration]} if toleration else {}
    assert DaemonPlacement(_daemon_set(**spec)).judge(node) == verdict


def test_daemons_on_the_host_network_need_none() -> None:
    node = _node(taints=[{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}])
    assert DaemonPlacement(_daemon_set(hostNetwork=True)).judge(node).run


def test_a_limited_toleration_becomes_unlimited() -> None:
    limited = {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 30,
    }
    result = tolerations({"tolerations": [limited]})
    assert len(result) == 6
    assert "tolerationSeconds" not in result[0]


def test_a_pod_is_pinned_to_its_node_and_found_by_it() -> None:
    affinity = {"podAffinity": {"x": 1}, **_affine(_expression("a", "Exists"))["affinity"]}
    pod = pod_state(node="", spec={"affinity": pinned(affinity, "n7")})
    assert target_node(pod) == "n7"
    assert pod.affinity["podAffinity"] == {"x": 1}
    assert target_node(pod_state(node="n8", spec={"affinity": pinned(None, "n7")})) == "n8"
    assert target_node(pod_state(node="")) is None
