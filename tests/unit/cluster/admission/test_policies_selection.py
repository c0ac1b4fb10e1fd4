"""What expressions of policies can look at: the namespace, and parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from steersman.cluster.admission.policies.definitions import PolicyBinding
from steersman.cluster.admission.policies.errors import PolicyMisconfigured
from steersman.cluster.admission.policies.mutations import plain
from steersman.cluster.admission.policies.params import collect_params
from steersman.cluster.admission.policies.selection import namespace_object
from steersman.cluster.cel.values import Optional
from steersman.cluster.schema.resources import GVK
from steersman.objects.status import StatusError

from .conftest import write
from .policy_writes import Cluster

Object = dict[str, Any]


def test_the_namespace_of_a_write() -> None:
    cluster = Cluster()
    cluster.stored.objects["", "namespaces"][0] |= {
        "spec": {"finalizers": ["x"]},
        "status": {"phase": "Active"},
    }
    found = namespace_object(cluster.context, write("pods", {}, kind="Pod"))
    assert found is not None
    assert found["metadata"]["labels"] == {"team": "blue"}
    assert (found["spec"], found["status"]) == ({"finalizers": ["x"]}, {"phase": "Active"})
    # Another group may have a kind of this name.
    assert namespace_object(cluster.context, write("namespaces", {}, kind="Namespace", group="a.b")) == found
    assert namespace_object(cluster.context, write("namespaces", {}, kind="Namespace")) is None
    assert namespace_object(cluster.context, write("nodes", {}, kind="Node", namespace="")) is None
    with pytest.raises(StatusError):
        namespace_object(cluster.context, write("pods", {}, kind="Pod", namespace="gone"))


def params(cluster: Cluster, kind: GVK | None, ref: Object | None) -> Sequence[Object | None]:
    binding = PolicyBinding("b", None, ref, ())
    return asyncio.run(collect_params(cluster.context, kind, binding, "default"))


CONFIG_MAP, NODE = GVK("", "v1", "ConfigMap"), GVK("", "v1", "Node")


def test_parameters_need_a_kind_and_a_reference() -> None:
    cluster = Cluster()
    cluster.stored.add("", "configmaps", "c", apiVersion="v1", kind="ConfigMap")
    assert params(cluster, None, {"name": "c"}) == [None]
    assert params(cluster, CONFIG_MAP, None) == [None]
    (found,) = params(cluster, CONFIG_MAP, {"name": "c"})
    assert found is not None
    assert found["metadata"]["name"] == "c"


def test_parameters_of_no_namespace_are_named_without_one() -> None:
    cluster = Cluster()
    cluster.stored.add("", "nodes", "n", apiVersion="v1", kind="Node")
    assert len(params(cluster, NODE, {"name": "n"})) == 1
    with pytest.raises(PolicyMisconfigured, match="must not be provided for a cluster-scoped"):
        params(cluster, NODE, {"name": "n", "namespace": "default"})


def test_an_optional_is_its_value_or_null() -> None:
    assert plain(Optional("x")) == "x"
    assert plain(Optional("x", present=False)) is None
