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
        "image": _text("The image of the controllers; it must contain `steer`."),
        "replicas": {
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "The number of controllers; default: 2, with Raft 3.",
        },
        "gracePeriodSeconds": {
            "type": "integer",
            "minimum": 1,
            "description": "The time for a controller to stop its workloads.",
        },
        "config": {**config, "description": "The configuration, as in the configuration file."},
        "secret": _text(
            "A Secret with any of the keys api-token, redis-addr, redis-password, database-url; "
            "default: the release name."
        ),
        "rbac": _object(
            "The scope of the RBAC rules.",
            {
                "namespaces": {
                    **names,
                    "description": "The namespaces of the workloads; default: config.namespace.",
                },
                "tenants": {**names, "description": "The tenants; default: config.tenant."},
                "leases": _switch("Allow Leases, for storageType lease."),
                "customResources": _switch("Allow custom resources in all namespaces."),
            },
        ),
        "fencing": _switch("Have the API server reject late writes of former leaders."),
        "networkPolicy": _switch("Restrict access to the API and the dashboard."),
        "monitoringNamespace": _text("The namespace that Prometheus scrapes from."),
        "serviceMonitor": _switch("Add a ServiceMonitor for the Prometheus Operator."),
        "resources": {"type": "object", "description": "The resources of the container of a controller."},
        "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
        "tolerations": {"type": "array", "items": {"type": "object"}},
        # Helm's own.
        "global": {"type": "object"},
    }
    return {
        # What Helm's older versions know.
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the Highlander chart",
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
