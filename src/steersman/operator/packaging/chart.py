"""A Helm chart of operators: the manifests, with what people want to change left open.

The templates are made of the very objects that `manifests` gives, for a release whose name, namespace and
image are marks; then each mark becomes an expression. So a chart that is rendered with its own values says
what the manifests say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, get_args

from steersman.objects.kinds import Object
from steersman.objects.kinds.enums import PullPolicy
from steersman.operator.fencing import fencing_policy
from steersman.operator.packaging.manifests import manifests
from steersman.operator.packaging.release import Release
from steersman.operator.packaging.text import as_yaml
from steersman.operator.packaging.workload import budget

__all__ = ["MARKED_NAME", "MARKED_NAMESPACE", "chart"]


#: What stands for the name and the namespace of a release until the templates are written.
MARKED_NAME: Final = "steersman-marked-name"
MARKED_NAMESPACE: Final = "steersman-marked-namespace"
_IMAGE, _ACCOUNT, _REPLICAS = "steersman-marked-image", "steersman-marked-account", 987_654_321

#: Which file an object goes to, and on which condition.
_FILES: Final = {
    "ServiceAccount": ("service-account", ".Values.serviceAccount.create"),
    "ClusterRole": ("rbac", ".Values.rbac.create"),
    "ClusterRoleBinding": ("rbac", ".Values.rbac.create"),
    "Role": ("rbac", ".Values.rbac.create"),
    "RoleBinding": ("rbac", ".Values.rbac.create"),
    "PodDisruptionBudget": ("disruption-budget", ".Values.ha.podDisruptionBudget"),
    "ValidatingAdmissionPolicy": ("fencing", ".Values.ha.fencing"),
    "ValidatingAdmissionPolicyBinding": ("fencing", ".Values.ha.fencing"),
    "Service": ("services", ""),
    "NetworkPolicy": ("network-policy", ".Values.networkPolicy.enabled"),
    "Deployment": ("deployment", ""),
    "StatefulSet": ("stateful-set", ""),
}
#: Of a pod: fields that are there only if the values say something.
_OPTIONAL: Final = ("imagePullSecrets", "nodeSelector", "affinity", "tolerations", "priorityClassName")


def chart(release: Release, *, version: str, app_version: str) -> dict[str, str]:
    """Files by their paths. `release` must carry the marked name and namespace."""
    name = _chart_name(release)
    files = {
        "Chart.yaml": as_yaml(
            {
                "apiVersion": "v2",
                "name": name,
                "description": f"The operator {name}",
                "type": "application",
                "version": version,
                "appVersion": app_version,
            }
        ),
        ".helmignore": ".git\n*.swp\n",
        "values.yaml": as_yaml(_values(release)),
        "values.schema.json": json.dumps(_schema(release), indent=2) + "\n",
        "templates/NOTES.txt": _NOTES.replace("KINDS", _kinds(release)),
    }
    for definition in release.crds:
        files[f"crds/{definition['metadata']['name']}.yaml"] = as_yaml(definition)
    for path, objects in _grouped(release).items():
        files[f"templates/{path}.yaml"] = "---\n".join(_template(each) for each in objects)
    return dict(sorted(files.items()))


_NOTES: Final = """{{ .Release.Name }} runs in the namespace {{ .Release.Namespace }} and reconciles KINDS.

  kubectl --namespace {{ .Release.Namespace }} logs -l app.kubernetes.io/name={{ .Release.Name }}
"""


def _chart_name(release: Release) -> str:
    kind = release.operators[0].definition.resource.kind
    return f"{kind.lower()}-operator"


def _kinds(release: Release) -> str:
    return ", ".join(operator.definition.resource.plural for operator in release.operators)


# --- values


def _values(release: Release) -> Object:
    repository, _, tag = release.image.rpartition(":")
    if not repository or "/" in tag:  # a port of the registry's, no tag
        repository, tag = release.image, ""
    [container] = _pod(_marked(release)[-1])["containers"]
    values: Object = {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"},
        "replicas": release.replicas,
        "resources": container["resources"],
        "imagePullSecrets": [],
        "nodeSelector": {},
        "affinity": {},
        "tolerations": [],
        "priorityClassName": "",
        "podAnnotations": {},
        "serviceAccount": {"create": True, "name": "", "annotations": {}},
        "rbac": {"create": True},
        "metrics": {"enabled": True},
        "ha": {"podDisruptionBudget": release.replicas > 1, "fencing": release.fencing},
    }
    if release.raft is not None:
        values["networkPolicy"] = {"enabled": True}
    return values


_TYPES: Final = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}


def _schema(release: Release) -> Object:
    """What values are taken: those that there are, of their types."""
    schema = _schema_of(_values(release))
    schema["properties"]["replicas"]["minimum"] = 0
    if not release.is_coordinated:
        # Several would all do the same work.
        schema["properties"]["replicas"]["maximum"] = 1
    schema["properties"]["image"]["properties"]["pullPolicy"]["enum"] = list(get_args(PullPolicy))
    # Helm itself puts this into the values of a chart that is part of another.
    schema["properties"]["global"] = {"type": "object"}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **schema}


def _schema_of(value: Any) -> Object:
    schema: Object = {"type": _TYPES[type(value)]}
    if isinstance(value, Mapping) and value and not _is_free(value):
        schema["properties"] = {name: _schema_of(each) for name, each in value.items()}
        schema["additionalProperties"] = False
    return schema


def _is_free(value: Mapping[str, Any]) -> bool:
    """Whether Kubernetes says what may be in it."""
    return "requests" in value or "limits" in value


# --- templates


def _marked(release: Release) -> list[Object]:
    """The objects of the chart, the workload last."""
    open_release = replace(release, image=_IMAGE, fencing=False, crds=())
    made = [each for each in manifests(open_release) if each["kind"] != "Namespace"]
    workload = made.pop()
    made = [each for each in made if each["kind"] != "PodDisruptionBudget"]
    return [*made, budget(release), *fencing_policy(release.operators), workload]


def _grouped(release: Release) -> dict[str, list[Object]]:
    grouped: dict[str, list[Object]] = {}
    for obj in _marked(release):
        grouped.setdefault(_FILES[obj["kind"]][0], []).append(_opened(obj))
    return grouped


def _opened(obj: Object) -> Object:
    """An object with marks in the place of what values decide."""
    for subject in obj.get("subjects") or ():
        subject["name"] = _ACCOUNT
    if obj["kind"] == "ServiceAccount":
        obj["metadata"]["name"] = _ACCOUNT
        obj["metadata"]["annotations"] = "@@with serviceAccount.annotations@@"
    if obj["kind"] in ("Deployment", "StatefulSet"):
        pod = _pod(obj)
        [container] = pod["containers"]
        container["resources"] = "@@resources@@"
        container["imagePullPolicy"] = "@@plain image.pullPolicy@@"
        pod["serviceAccountName"] = _ACCOUNT
        for field in _OPTIONAL:
            pod[field] = f"@@with {field}@@"
        obj["spec"]["replicas"] = _REPLICAS
        obj["spec"]["template"]["metadata"]["annotations"] = "@@with podAnnotations@@"
    return obj


def _pod(workload: Object) -> Object:
    spec: Object = workload["spec"]["template"]["spec"]
    return spec


_EXPRESSIONS: Final = {
    _ACCOUNT: "{{ .Values.serviceAccount.name | default .Release.Name }}",
    MARKED_NAMESPACE: "{{ .Release.Namespace }}",
    MARKED_NAME: "{{ .Release.Name }}",
    str(_REPLICAS): "{{ .Values.replicas }}",
    _IMAGE: '"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"',
}
_MARK: Final = re.compile(r"^( *)(\w+): '@@(with |plain |)([\w.]+)@@'$", re.MULTILINE)


def _template(obj: Object) -> str:
    text = _MARK.sub(_expression, _escaped(as_yaml(obj)))
    for mark, expression in _EXPRESSIONS.items():
        text = text.replace(mark, expression)
    condition = _condition(obj)
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text


def _condition(obj: Object) -> str:
    if obj["kind"] == "Service" and obj["metadata"]["name"] == f"{MARKED_NAME}-metrics":
        return ".Values.metrics.enabled"
    return _FILES[obj["kind"]][1]


def _expression(found: re.Match[str]) -> str:
    indent, field, how, value = found.groups()
    deeper = len(indent) + 2
    if how == "plain ":
        return f"{indent}{field}: {{{{ .Values.{value} }}}}"
    if how == "with ":
        return (
            f"{indent}{{{{- with .Values.{value} }}}}\n"
            f"{indent}{field}: {{{{- toYaml . | nindent {deeper} }}}}\n"
            f"{indent}{{{{- end }}}}"
        )
    return f"{indent}{field}: {{{{- toYaml .Values.{value} | nindent {deeper} }}}}"


def _escaped(text: str) -> str:
    """What Helm would take for an expression stays as it is."""
    return text.replace("{{", '{{ "{{" }}')
