"""Facts about Kubernetes' types: read off a running original, and off the modules it is published as.

| file                   | what                                                         | from                       |
|------------------------|--------------------------------------------------------------|----------------------------|
| `resources.json`       | each resource: kind, scope, verbs, names, subresources       | discovery                  |
| `columns.json`         | what `kubectl get` shows of it: name, type, format, priority | Tables of empty lists      |
| `rbac-bootstrap.json`  | the default roles and bindings                               | a server just started      |
| `protobuf-fields.json` | message → field → number and type                            | `generated.proto` files    |
| `promises/*.txt`       | names of the public conformance tests, by what they need     | the suite's list, by hand  |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from tests.originals.programs import ORIGINS, module_folder
from tests.originals.servers import OriginalCluster
from tests.recordings import FACTS

__all__ = ["new_promises", "record", "record_protobuf"]

Object = dict[str, Any]

_KUBERNETES: Final = next(origin for origin in ORIGINS if origin.name == "kubernetes")
_TYPED_MODULES: Final = (
    "api",
    "apiextensions-apiserver",
    "apimachinery",
    "apiserver",
    "kube-aggregator",
    "metrics",
)
_PROMISES: Final = "test/conformance/testdata/conformance.yaml"
_DISCOVERY: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_MESSAGE: Final = re.compile(r"^message (\w+) \{$(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(
    r"^ +(?:(optional|repeated|required) )?(map<\w+, [\w.]+>|[\w.]+) (\w+) = (\d+)", re.M
)
_PACKAGE: Final = re.compile(r"^package ([\w.]+);", re.MULTILINE)
_BOOTSTRAPPED: Final = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")


def record(server: OriginalCluster) -> None:
    """What a server says of itself, into the files."""
    FACTS.mkdir(exist_ok=True)
    resources = list(_resources(server))
    _write_rows("resources.json", "[", [json.dumps(one) for one in resources], "]")
    columns = {f"{_group_version(one)}/{one['resource']}": _columns(server, one) for one in resources}
    rows = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in columns.items() if found]
    _write_rows("columns.json", "{", rows, "}")
    roles = {plural: _roles(server, plural) for plural in _BOOTSTRAPPED}
    (FACTS / "rbac-bootstrap.json").write_text(json.dumps(roles, indent=0) + "\n")


def record_protobuf() -> None:
    """The numbers of all fields, from the published modules."""
    found: dict[str, Object] = {}
    for module in _TYPED_MODULES:
        for file in module_folder(_KUBERNETES, f"k8s.io/{module}").rglob("generated.proto"):
            found |= _messages(file.read_text())
    rows = [
        f"{json.dumps(name)}: {json.dumps(fields, separators=(',', ':'))}"
        for name, fields in sorted(found.items())
    ]
    _write_rows("protobuf-fields.json", "{", rows, "}")


def new_promises() -> list[str]:
    """Names of conformance tests that are in none of the lists, since what they need is for a person to see.
    What a later suite leaves out stays a promise."""
    text = (module_folder(_KUBERNETES, "k8s.io/kubernetes") / _PROMISES).read_text()
    there = {" ".join(one["codename"].split()) for one in yaml.safe_load(text)}
    for file in (FACTS / "promises").glob("*.txt"):
        there.difference_update(file.read_text().splitlines())
    return sorted(there)


def _write_rows(name: str, start: str, rows: list[str], end: str) -> None:
    """JSON with a line for each row, so that a change shows where it is."""
    (FACTS / name).write_text(f"{start}\n" + ",\n".join(rows) + f"\n{end}\n")


# --- from a server


def _group_version(resource: Object) -> str:
    return f"{resource['group']}/{resource['version']}"


def _resources(server: OriginalCluster) -> Iterator[Object]:
    for path in ("/api", "/apis"):
        for group in server.get(path, _DISCOVERY)["items"]:
            for version in group["versions"]:
                for one in version["resources"]:
                    yield _resource(group["metadata"].get("name", ""), version["version"], one)


def _resource(group: str, version: str, found: Object) -> Object:
    resource: Object = {
        "group": group,
        "version": version,
        "resource": found["resource"],
        "kind": found["responseKind"]["kind"],
        "scope": "Namespaced" if found["scope"] == "Namespaced" else "Cluster",
        "singular": found["singularResource"],
        "verbs": sorted(found["verbs"]),
    }
    for name in ("shortNames", "categories"):
        if found.get(name):
            resource[name] = found[name]
    if found.get("subresources"):
        resource["subresources"] = [
            _subresource(one, group, version)
            for one in sorted(found["subresources"], key=lambda one: one["subresource"])
        ]
    return resource


def _subresource(found: Object, group: str, version: str) -> Object:
    kind = found["responseKind"]
    # Named only where it is another than its resource's.
    own = (kind["group"], kind["version"]) == (group, version) or not kind["version"]
    return {
        "name": found["subresource"],
        "kind": kind["kind"],
        "group": "" if own else kind["group"],
        "version": "" if own else kind["version"],
        "verbs": sorted(found["verbs"]),
    }


def _columns(server: OriginalCluster, resource: Object) -> list[list[Any]]:
    if "list" not in resource["verbs"]:
        return []
    base = "/api" if not resource["group"] else f"/apis/{resource['group']}"
    path = f"{base}/{resource['version']}/{resource['resource']}"
    table = server.get(f"{path}?limit=1", "application/json;as=Table;v=v1;g=meta.k8s.io")
    return [[one["name"], one["type"], one["format"], one["priority"]] for one in table["columnDefinitions"]]


def _roles(server: OriginalCluster, plural: str) -> list[Object]:
    items = server.get(f"/apis/rbac.authorization.k8s.io/v1/{plural}", "application/json")["items"]
    return [_role(item) for item in items]


def _role(item: Object) -> Object:
    metadata = item["metadata"]
    labels = {
        name: value
        for name, value in metadata.get("labels", {}).items()
        if name != "kubernetes.io/bootstrapping"
    }
    given = {
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "labels": labels,
        "aggregate": item.get("aggregationRule", {}).get("clusterRoleSelectors"),
        # What a role that gathers others has is made by a controller.
        "rules": None if "aggregationRule" in item else item.get("rules"),
        "roleRef": item.get("roleRef", {}).get("name"),
        "subjects": item.get("subjects"),
    }
    return {name: value for name, value in given.items() if value}


# --- from the published modules


def _messages(text: str) -> dict[str, Object]:
    package = _PACKAGE.search(text)
    assert package is not None
    return {
        f"{package[1]}.{name}": {
            field: [int(number), _type(how, kind)] for how, kind, field, number in _FIELD.findall(body)
        }
        for name, body in _MESSAGE.findall(text)
    }


def _type(how: str, kind: str) -> str:
    return ("[]" if how == "repeated" else "") + kind.replace(" ", "")
