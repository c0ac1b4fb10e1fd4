"""Highlander's Helm chart: the templates beside this, and what is made of the code: custom resource
definitions and the schema of its values.

`steer highlander helm` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from steersman.highlander.config import json_schema
from steersman.highlander.resources import definitions
from steersman.operator.packaging.text import as_yaml

__all__ = ["chart"]

Schema = dict[str, Any]


def chart() -> dict[str, str]:
    """Its files: their text by path."""
    here = resources.files(__name__)
    made = {f"crds/{one['metadata']['name']}.yaml": as_yaml(one) for one in definitions(public=True)}
    return {
        **_texts([here / "Chart.yaml", here / "values.yaml"]),
        **_texts((here / "templates").iterdir(), "templates/"),
        **made,
        "values.schema.json": json.dumps(_values_schema(), indent=2) + "\n",
    }


def _texts(files: Iterable[Traversable], folder: str = "") -> dict[str, str]:
    return {f"{folder}{file.name}": file.read_text(encoding="utf-8") for file in files}


def _values_schema() -> Schema:
    config = json_schema()
    definitions_ = config.pop("$defs")
    del config["$schema"]
    names: Schema = {"type": "array", "items": {"type": "string"}}
    properties = {
        "image": _text("An image in which `steer` is installed."),
        "replicas": {
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "The number of controllers; by default 2, with Raft 3.",
        },
        "gracePeriodSeconds": {
            "type": "integer",
            "minimum": 1,
            "description": "How long a controller may take to stop its workloads.",
        },
        "config": {**config, "description": "The configuration, as in the file."},
        "secret": _text(
            "A Secret with any of the keys api-token, redis-addr, redis-password, database-url; "
            "the release's name if empty."
        ),
        "rbac": _object(
            "What the controllers may do.",
            {
                "namespaces": {**names, "description": "Where workloads run; config.namespace if empty."},
                "tenants": {**names, "description": "Those of the configuration; config.tenant if empty."},
                "leases": _switch("The lock is a Lease (storageType lease)."),
                "customResources": _switch("Custom resources are followed, in all namespaces."),
            },
        ),
        "fencing": _switch("Have the API refuse what a former leader still sends."),
        "networkPolicy": _switch("Set who may use the API and the dashboard."),
        "monitoringNamespace": _text("Where scrapes come from."),
        "serviceMonitor": _switch("For Prometheus' operator, if the cluster has it."),
        "resources": {"type": "object", "description": "Of a controller, as in a container."},
        "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
        "tolerations": {"type": "array", "items": {"type": "object"}},
        # Helm's own.
        "global": {"type": "object"},
    }
    return {
        # What Helm's older versions know.
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart of Highlander",
        **_object("", properties),
        "$defs": definitions_,
    }


def _object(about: str, properties: Schema) -> Schema:
    described = {"description": about} if about else {}
    return {"type": "object", **described, "properties": properties, "additionalProperties": False}


def _text(about: str) -> Schema:
    return {"type": "string", "description": about}


def _switch(about: str) -> Schema:
    return {"type": "boolean", "description": about}
