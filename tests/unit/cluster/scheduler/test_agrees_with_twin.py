"""Whatever the cluster and however it came to be so, the scheduler finds what its plain twin finds."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from .twin import Twin
from .worlds import World, make, node_object, pod_object

Object = dict[str, Any]

_LABEL = st.fixed_dictionaries({}, optional={"app": st.sampled_from("ab"), "tier": st.sampled_from("xy")})
_KEYS = st.sampled_from(["kubernetes.io/hostname", "zone", "rack"])
_SELECTOR = st.one_of(
    st.builds(lambda value: {"matchLabels": {"app": value}}, st.sampled_from("ab")),
    st.builds(
        lambda key: {"matchExpressions": [{"key": key, "operator": "Exists"}]},
        st.sampled_from(["app", "tier"]),
    ),
    st.just({}),
)
_TAINT = st.builds(
    lambda key, effect: {"key": key, "value": "v", "effect": effect},
    st.sampled_from("kl"),
    st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
)
_TOLERATION = st.sampled_from(
    [
        {"operator": "Exists"},
        {"key": "k", "operator": "Exists"},
        {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"},
        {"key": "l", "operator": "Equal", "value": "other"},
    ]
)
_EXPRESSION = st.sampled_from(
    [
        {"key": "zone", "operator": "In", "values": ["1", "2"]},
        {"key": "zone", "operator": "NotIn", "values": ["1"]},
        {"key": "rack", "operator": "Exists"},
        {"key": "rack", "operator": "DoesNotExist"},
    ]
)
_NODE_TERM = st.builds(lambda each: {"matchExpressions": each}, st.lists(_EXPRESSION, min_size=1, max_size=2))
_TERM = st.builds(
    lambda selector, key, namespaces: {
        "labelSelector": selector,
        "topologyKey": key,
        "namespaces": namespaces,
    },
    _SELECTOR,
    _KEYS,
    st.sampled_from([[], ["default", "other"]]),
)
_WISH = st.builds(
    lambda weight, term: {"weight": weight, "podAffinityTerm": term}, st.integers(1, 100), _TERM
)
_POD_TERMS = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.lists(_TERM, max_size=2),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(_WISH, max_size=2),
    },
)
_NODE_AFFINITY = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.builds(
            lambda terms: {"nodeSelectorTerms": terms}, st.lists(_NODE_TERM, min_size=1, max_size=2)
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.builds(
                lambda weight, term: {"weight": weight, "preference": term}, st.integers(1, 100), _NODE_TERM
            ),
            max_size=2,
        ),
    },
)
_CONSTRAINT = st.builds(
    lambda skew, key, action, selector, more: {
        "maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector, **more,
    },
    st.integers(1, 3),
    _KEYS,
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    _SELECTOR,
    st.sampled_from([{}, {"minDomains": 3}, {"nodeTaintsPolicy": "Honor"}, {"nodeAffinityPolicy": "Ignore"}]),
)  # fmt: skip
_PORT = st.builds(
    lambda port, address: {"containerPort": 80, "hostPort": port, "hostIP": address, "protocol": "TCP"},
    st.sampled_from([80, 81]),
    st.sampled_from(["", "127.0.0.1", "127.0.0.2"]),
)
_CONTAINER = st.builds(
    lambda requests, ports: {"name": "c", "image": "i", "resources": {"requests": requests}, "ports": ports},
    st.fixed_dictionaries(
        {}, optional={"cpu": st.sampled_from(["500m", "1", "3"]), "memory": st.sampled_from(["1Gi", "3Gi"])}
    ),
    st.lists(_PORT, max_size=1),
)
_SPEC = st.fixed_dictionaries(
    {"containers": st.lists(_CONTAINER, min_size=1, max_size=2)},
    optional={
        "tolerations": st.lists(_TOLERATION, max_size=2),
        "nodeSelector": st.just({"zone": "1"}),
        "topologySpreadConstraints": st.lists(_CONSTRAINT, max_size=2),
        "affinity": st.fixed_dictionaries(
            {},
            optional={
                "nodeAffinity": _NODE_AFFINITY,
                "podAffinity": _POD_TERMS,
                "podAntiAffinity": _POD_TERMS,
            },
        ),
    },
)
_NAMESPACE = st.sampled_from(["default", "default", "other"])
_POD = st.tuples(_NAMESPACE, _LABEL, _SPEC)
_NODE = st.builds(
    lambda labels, taints, closed, cpu: (labels, {"taints": taints, "unschedulable": closed}, cpu),
    st.fixed_dictionaries({}, optional={"zone": st.sampled_from("123"), "rack": st.sampled_from("ab")}),
    st.lists(_TAINT, max_size=2),
    st.sampled_from([False, False, False, True]),
    st.sampled_from(["2", "4"]),
)
#: What happens: a pod is placed where the scheduler says, or a node (by number) gets pod, facts or lost.
_STEP = st.one_of(
    st.tuples(st.just("try"), _POD),
    st.tuples(st.just("put pod"), st.integers(0, 4), _POD),
    st.tuples(st.just("drop pod"), st.integers(0, 30)),
    st.tuples(st.just("put node"), st.integers(0, 4), _NODE),
    st.tuples(st.just("drop node"), st.integers(0, 4)),
)


class _Run:
    """A world, and the same in objects."""

    def __init__(self) -> None:
        self.world = World()
        self.nodes: dict[str, Object] = {}
        self.pods: dict[str, tuple[str, Object]] = {}
        self.made = 0

    def pod(self, parts: tuple[str, Object, Object]) -> Object:
        self.made += 1
        namespace, labels, spec = parts
        return pod_object(f"p{self.made}", namespace=namespace, labels=labels, **spec)

    def put_pod(self, node: str, obj: Object) -> None:
        self.pods[obj["metadata"]["name"]] = (node, obj)
        self.world.nodes.place(make(obj), node)

    def step(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("try", parts):
                obj = self.pod(parts)
                placed = self.agree(obj)
                if placed is not None:
                    self.put_pod(placed, obj)
            case ("put pod", number, parts):
                self.put_pod(f"n{number}", self.pod(parts))
            case ("drop pod", number) if f"p{number}" in self.pods:
                _, obj = self.pods.pop(f"p{number}")
                self.world.nodes.displace(make(obj).key)
            case ("put node", number, (labels, spec, cpu)):
                obj = node_object(f"n{number}", labels=labels, allocatable={"cpu": cpu, "pods": "4"}, **spec)
                self.nodes[f"n{number}"] = obj
                self.world.add_node(
                    f"n{number}", labels=labels, allocatable={"cpu": cpu, "pods": "4"}, **spec
                )
            case ("drop node", number):
                self.nodes.pop(f"n{number}", None)
                self.world.nodes.remove(f"n{number}")

    def agree(self, obj: Object) -> str | None:
        if not self.nodes:
            return None
        on = {name: [pod for node, pod in self.pods.values() if node == name] for name in self.nodes}
        twin = Twin(self.nodes, on)
        placed = self.world.place(make(obj))
        if isinstance(placed, str):
            assert placed in twin.best(obj)
            return placed
        found = {name: refusal.reasons for name, refusal in placed.refusals.items()}
        assert found == twin.refusals(obj)
        return None


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.lists(_NODE, min_size=1, max_size=5), st.lists(_STEP, min_size=1, max_size=14), _POD)
def test_agrees_with_twin(
    nodes: list[Any], steps: list[tuple[Any, ...]], last: tuple[str, Object, Object]
) -> None:
    run = _Run()
    for number, node in enumerate(nodes):
        run.step(("put node", number, node))
    for step in steps:
        run.step(step)
    for _ in range(3):
        run.step(("try", last))
