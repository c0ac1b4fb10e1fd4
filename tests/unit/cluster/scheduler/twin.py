"""Filters and scores written down as plainly as possible, on objects: what the scheduler must agree with.

No memory, no indexes, no shortcuts; everything is looked at every time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from steersman.objects.quantities import Quantity
from steersman.objects.selectors import LabelSelector

Object = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"


class Twin:
    """Nodes by name, and the pods on each."""

    def __init__(self, nodes: Mapping[str, Object], pods: Mapping[str, list[Object]]) -> None:
        self.nodes = nodes
        self.pods = pods

    def refusals(self, pod: Object) -> dict[str, tuple[str, ...]]:
        """Why each node is refused; nothing for those that will do."""
        checks = (self.taints, self.affinity, self.ports, self.resources, self.spread, self.near_and_far)
        found = {}
        for name, node in self.nodes.items():
            for check in checks:
                reasons = check(pod, node, self.pods[name])
                if reasons:
                    found[name] = tuple(reasons)
                    break
        return found

    def best(self, pod: Object) -> set[str]:
        """The nodes with the highest score."""
        names = [name for name in self.nodes if name not in self.refusals(pod)]
        if not names:
            return set()
        columns = [
            (1, self.least_allocated(pod, names)),
            (1, self.balanced(pod, names)),
            (3, self.taint_scores(pod, names)),
            (2, self.affinity_scores(pod, names)),
            (2, self.spread_scores(pod, names)),
            (2, self.wishes(pod, names)),
        ]
        totals = {
            name: sum(weight * column[number] for weight, column in columns)
            for number, name in enumerate(names)
        }
        highest = max(totals.values())
        return {name for name, total in totals.items() if total == highest}

    # --- filters

    def taints(self, pod: Object, node: Object, others: list[Object]) -> list[str]:
        if node["spec"].get("unschedulable"):
            taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
            if not tolerated(taint, tolerations(pod)):
                return ["node(s) were unschedulable"]
        for taint in node["spec"].get("taints", []):
            if taint["effect"] in ("NoSchedule", "NoExecute") and not tolerated(taint, tolerations(pod)):
                return ["node(s) had untolerated taint(s)"]
        return []

    def affinity(self, pod: Object, node: Object, others: list[Object]) -> list[str]:
        if not wants(pod, node):
            return ["node(s) didn't match Pod's node affinity/selector"]
        return []

    def ports(self, pod: Object, node: Object, others: list[Object]) -> list[str]:
        held = [port for other in others for port in host_ports(other)]
        for mine in host_ports(pod):
            for theirs in held:
                same_ip = mine[0] == theirs[0] or "0.0.0.0" in (mine[0], theirs[0])
                if same_ip and mine[1:] == theirs[1:]:
                    return ["node(s) didn't have free ports for the requested pod ports"]
        return []

    def resources(self, pod: Object, node: Object, others: list[Object]) -> list[str]:
        has = {name: Quantity.parse(text) for name, text in node["status"]["allocatable"].items()}
        reasons = []
        if len(others) + 1 > has["pods"].value:
            reasons.append("Too many pods")
        for name in ("cpu", "memory"):
            asked = request(pod, name)
            used = sum(request(other, name) for other in others)
            if asked and asked > has[name].milli_value - used:
                reasons.append(f"Insufficient {name}")
        return reasons

    def spread(self, pod: Object, node: Object, others: list[Object]) -> list[str]:
        text = "node(s) didn't match pod topology spread constraints"
        hard = [each for each in constraints(pod) if each["whenUnsatisfiable"] == "DoNotSchedule"]
        for constraint in hard:
            key = constraint["topologyKey"]
            if key not in labels(node):
                return [f"{text} (missing required label)"]
            counts = self.domains(pod, constraint, [each["topologyKey"] for each in hard])
            lowest = min(counts.values(), default=0)
            if len(counts) < constraint.get("minDomains", 1):
                lowest = 0
            own = int(selects(constraint, pod))
            if counts.get(labels(node)[key], 0) + own - lowest > constraint["maxSkew"]:
                return [text]
        return []

    def domains(self, pod: Object, constraint: Object, keys: list[str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name, node in self.nodes.items():
            if not all(key in labels(node) for key in keys):
                continue
            if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not wants(pod, node):
                continue
            if constraint.get("nodeTaintsPolicy") == "Honor" and not untainted_for(pod, node):
                continue
            value = labels(node)[constraint["topologyKey"]]
            counts[value] = counts.get(value, 0) + self.alike(pod, constraint, name)
        return counts

    def alike(self, pod: Object, constraint: Object, node: str) -> int:
        if LabelSelector.from_object(constraint.get("labelSelector")).empty:
            return 0
        return sum(
            namespace(other) == namespace(pod) and selects(constraint, other) for other in self.pods[node]
        )

    def near_and_far(self, pod: Object, node: Object, others: list[Object]) -> list[str]:
        needs = terms(pod, "podAffinity", "required")
        near = True
        for term in needs:
            if term["topologyKey"] not in labels(node):
                return ["node(s) didn't match pod affinity rules"]
            near = near and any(
                all(matches(each, pod, other) for each in needs)
                for name, place in self.nodes.items()
                if together(place, node, term["topologyKey"])
                for other in self.pods[name]
            )
        if not near:
            somewhere = any(
                all(matches(term, pod, other) for term in needs)
                and any(term["topologyKey"] in labels(self.nodes[name]) for term in needs)
                for name in self.nodes
                for other in self.pods[name]
            )
            if somewhere or not all(matches(term, pod, pod) for term in needs):
                return ["node(s) didn't match pod affinity rules"]
        for term in terms(pod, "podAntiAffinity", "required"):
            for name, place in self.nodes.items():
                if not together(place, node, term["topologyKey"]):
                    continue
                if any(matches(term, pod, other) for other in self.pods[name]):
                    return ["node(s) didn't match pod anti-affinity rules"]
        for name, place in self.nodes.items():
            for other in self.pods[name]:
                for term in terms(other, "podAntiAffinity", "required"):
                    if together(place, node, term["topologyKey"]) and matches(term, other, pod):
                        return ["node(s) didn't satisfy existing pods anti-affinity rules"]
        return []

    # --- scores

    def least_allocated(self, pod: Object, names: list[str]) -> list[int]:
        scores = []
        for name in names:
            has = self.nodes[name]["status"]["allocatable"]
            total = 0
            for resource, usual in (("cpu", 100), ("memory", 200 * 1024 * 1024 * 1000)):
                capacity = Quantity.parse(has[resource]).milli_value
                used = sum(request(each, resource, usual) for each in [pod, *self.pods[name]])
                total += (capacity - used) * 100 // capacity if used <= capacity else 0
            scores.append(total // 2)
        return scores

    def balanced(self, pod: Object, names: list[str]) -> list[int]:
        def balance(node: str, pods: list[Object]) -> int:
            has = self.nodes[node]["status"]["allocatable"]
            parts = []
            for resource in ("cpu", "memory"):
                capacity = Quantity.parse(has[resource]).milli_value
                parts.append(min(sum(request(each, resource) for each in pods) / capacity, 1.0))
            return int((1 - abs(parts[0] - parts[1]) / 2) * 100)

        if not request(pod, "cpu") and not request(pod, "memory"):
            return [0] * len(names)
        return [
            50 + (50 + balance(name, [*self.pods[name], pod]) - balance(name, self.pods[name])) // 2
            for name in names
        ]

    def taint_scores(self, pod: Object, names: list[str]) -> list[int]:
        accepted = [each for each in tolerations(pod) if each.get("effect", "") in ("", "PreferNoSchedule")]
        raw = [
            sum(
                taint["effect"] == "PreferNoSchedule" and not tolerated(taint, accepted)
                for taint in self.nodes[name]["spec"].get("taints", [])
            )
            for name in names
        ]
        highest = max(raw)
        return [100 - 100 * score // highest for score in raw] if highest else [100] * len(raw)

    def affinity_scores(self, pod: Object, names: list[str]) -> list[int]:
        wishes = node_affinity(pod).get("preferredDuringSchedulingIgnoredDuringExecution", [])
        raw = [
            sum(wish["weight"] for wish in wishes if term_matches(wish["preference"], self.nodes[name]))
            for name in names
        ]
        highest = max(raw)
        return [100 * score // highest for score in raw] if highest else raw

    def spread_scores(self, pod: Object, names: list[str]) -> list[int]:
        soft = [each for each in constraints(pod) if each["whenUnsatisfiable"] == "ScheduleAnyway"]
        if not soft:
            return [0] * len(names)
        keys = [each["topologyKey"] for each in soft]
        counted = [name for name in names if all(key in labels(self.nodes[name]) for key in keys)]
        raw: dict[str, int] = {}
        for name in counted:
            score = 0.0
            for constraint in soft:
                key = constraint["topologyKey"]
                values = {labels(self.nodes[each])[key] for each in counted}
                size = len(counted) if key == HOSTNAME else len(values)
                if key == HOSTNAME:
                    count = self.alike(pod, constraint, name)
                else:
                    count = self.domains(pod, constraint, keys).get(labels(self.nodes[name])[key], 0)
                score += count * math.log(size + 2) + constraint["maxSkew"] - 1
            raw[name] = math.floor(score + 0.5)
        highest, lowest = max(raw.values(), default=0), min(raw.values(), default=0)
        return [
            0 if name not in raw else 100 * (highest + lowest - raw[name]) // highest if highest else 100
            for name in names
        ]

    def wishes(self, pod: Object, names: list[str]) -> list[int]:
        raw = []
        for name in names:
            score = 0
            for there, place in self.nodes.items():
                for other in self.pods[there]:
                    for term, owner, target, weight in wishes_between(pod, other):
                        near = together(place, self.nodes[name], term["topologyKey"])
                        if near and matches(term, owner, target):
                            score += weight
            raw.append(score)
        lowest, highest = min(raw), max(raw)
        if lowest == highest:
            return [0] * len(raw)
        return [int(100 * ((score - lowest) / (highest - lowest))) for score in raw]


def wishes_between(pod: Object, other: Object) -> list[tuple[Object, Object, Object, int]]:
    found = []
    for sign, kind in ((1, "podAffinity"), (-1, "podAntiAffinity")):
        for each in weighted(pod, kind):
            found.append((each["podAffinityTerm"], pod, other, sign * each["weight"]))
        for each in weighted(other, kind):
            found.append((each["podAffinityTerm"], other, pod, sign * each["weight"]))
    found += [(term, other, pod, 1) for term in terms(other, "podAffinity", "required")]
    return found


def labels(obj: Object) -> Mapping[str, str]:
    return obj["metadata"].get("labels", {})


def namespace(obj: Object) -> str:
    return obj["metadata"]["namespace"]


def tolerations(pod: Object) -> list[Object]:
    return pod["spec"].get("tolerations", [])


def tolerated(taint: Object, accepted: list[Object]) -> bool:
    for each in accepted:
        if each.get("effect", "") not in ("", taint["effect"]) or each.get("key", "") not in (
            "",
            taint["key"],
        ):
            continue
        if each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", ""):
            return True
    return False


def untainted_for(pod: Object, node: Object) -> bool:
    return all(
        taint["effect"] == "PreferNoSchedule" or tolerated(taint, tolerations(pod))
        for taint in node["spec"].get("taints", [])
    )


def node_affinity(pod: Object) -> Object:
    return pod["spec"].get("affinity", {}).get("nodeAffinity", {})


def wants(pod: Object, node: Object) -> bool:
    if any(labels(node).get(key) != value for key, value in pod["spec"].get("nodeSelector", {}).items()):
        return False
    required = node_affinity(pod).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(term_matches(term, node) for term in required["nodeSelectorTerms"])


def term_matches(term: Object, node: Object) -> bool:
    for each in term["matchExpressions"]:
        value = labels(node).get(each["key"])
        if each["operator"] == "In" and value not in each["values"]:
            return False
        if each["operator"] == "NotIn" and value in each["values"]:
            return False
        if each["operator"] == "Exists" and value is None:
            return False
        if each["operator"] == "DoesNotExist" and value is not None:
            return False
    return True


def host_ports(pod: Object) -> list[tuple[str, str, int]]:
    return [
        (port.get("hostIP") or "0.0.0.0", port.get("protocol", "TCP"), port["hostPort"])
        for container in pod["spec"]["containers"]
        for port in container.get("ports", [])
    ]


def request(pod: Object, resource: str, usual: int = 0) -> int:
    """In thousandths; `usual` for each container that does not say."""
    asked = [container["resources"]["requests"].get(resource) for container in pod["spec"]["containers"]]
    return sum(usual if amount is None else Quantity.parse(amount).milli_value for amount in asked)


def constraints(pod: Object) -> list[Object]:
    return pod["spec"].get("topologySpreadConstraints", [])


def selects(constraint: Object, pod: Object) -> bool:
    return LabelSelector.from_object(constraint.get("labelSelector")).matches(labels(pod))


def terms(pod: Object, kind: str, how: str) -> list[Object]:
    return (
        pod["spec"].get("affinity", {}).get(kind, {}).get(f"{how}DuringSchedulingIgnoredDuringExecution", [])
    )


def weighted(pod: Object, kind: str) -> list[Object]:
    return terms(pod, kind, "preferred")


def matches(term: Object, owner: Object, pod: Object) -> bool:
    allowed = term.get("namespaces") or [namespace(owner)]
    return namespace(pod) in allowed and LabelSelector.from_object(term.get("labelSelector")).matches(
        labels(pod)
    )


def together(one: Object, other: Object, key: str) -> bool:
    return key in labels(one) and labels(one)[key] == labels(other).get(key)
