"""NodeMetrics and PodMetrics: single objects, lists and tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from steersman.objects.kinds import Object
from steersman.objects.quantities import Quantity
from steersman.objects.times import format_time
from steersman.objects.usage import Usage

__all__ = ["API_VERSION", "as_table", "listed", "node_metrics", "pod_metrics", "single"]


API_VERSION: Final = "metrics.k8s.io/v1beta1"
#: How far back the engines' measurements reach.
_WINDOW: Final = "10s"
_COLUMNS: Final = (
    {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": "Name of the resource",
        "priority": 0,
    },
    *(
        {"name": name, "type": "string", "format": kind, "description": "", "priority": 0}
        for name, kind in (("cpu", "quantity"), ("memory", "quantity"), ("Window", "duration"))
    ),
)


def node_metrics(name: str, labels: Mapping[str, str], time: float, usage: Usage) -> Object:
    return {**_head({"name": name}, labels, time), "usage": _amounts(usage)}


def pod_metrics(
    namespace: str, name: str, labels: Mapping[str, str], time: float, containers: Mapping[str, Usage]
) -> Object:
    used = [{"name": container, "usage": _amounts(usage)} for container, usage in sorted(containers.items())]
    return {**_head({"name": name, "namespace": namespace}, labels, time), "containers": used}


def _head(names: Object, labels: Mapping[str, str], time: float) -> Object:
    moment = format_time(datetime.fromtimestamp(time, UTC))
    metadata = {**names, "creationTimestamp": moment, **({"labels": dict(labels)} if labels else {})}
    return {"metadata": metadata, "timestamp": moment, "window": _WINDOW}


def _amounts(usage: Usage) -> Object:
    return {
        "cpu": str(Quantity(round(usage.cpu_cores * 1e9), -9)),
        "memory": str(Quantity(usage.memory_bytes, format="BinarySI")),
    }


def single(kind: str, item: Object) -> Object:
    return {"kind": kind, "apiVersion": API_VERSION, **item}


def listed(kind: str, items: Sequence[Object]) -> Object:
    return {"kind": f"{kind}List", "apiVersion": API_VERSION, "metadata": {}, "items": list(items)}


def as_table(items: Sequence[Object], kind: str, included: str = "Metadata", version: str = "v1") -> Object:
    """As kubectl asks for it; `included` says what of each object comes along."""
    rows = [{"cells": _cells(item), "object": _part(item, kind, included)} for item in items]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {},
        # metrics-server finds out from its objects what there is to show.
        "columnDefinitions": list(_COLUMNS) if items else [],
        "rows": rows,
    }


def _cells(item: Object) -> list[str]:
    usages = [item["usage"]] if "usage" in item else [one["usage"] for one in item["containers"]]
    amounts = []
    for resource in ("cpu", "memory"):
        parsed = [Quantity.parse(usage[resource]) for usage in usages]
        amounts.append(str(sum(parsed[1:], start=parsed[0])))
    return [item["metadata"]["name"], *amounts, item["window"]]


def _part(item: Object, kind: str, included: str) -> Object | None:
    match included:
        case "None":
            return None
        case "Object":
            return single(kind, item)
        case _:
            return {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": item["metadata"],
            }
