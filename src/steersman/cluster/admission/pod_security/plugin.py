"""The PodSecurity plugin: evaluates pods against the Pod Security policy of their namespace.

| object                  | enforce      | audit, warn                |
|-------------------------|--------------|----------------------------|
| pod                     | 403          | annotation, warning        |
| what makes pods         | –            | annotation, warning        |
| namespace, new policy   | labels valid | warns about the pods there |
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.cluster.admission.pod_security.evaluation import evaluate
from steersman.cluster.admission.pod_security.levels import (
    PREFIX,
    PRIVILEGED,
    LevelVersion,
    NamespacePolicy,
    policy_of,
    strictness,
)
from steersman.cluster.admission.pod_security.violations import Violation
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.ownership import controlling_reference
from steersman.objects.status import forbidden, internal_error, invalid

__all__ = ["Exemptions", "PodSecurity"]

_IGNORED_SUBRESOURCES: Final = frozenset(
    {"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"}
)
#: What makes pods: where it keeps the pod's template.
_TEMPLATES: Final = {
    ("", "replicationcontrollers"): ("spec", "template"),
    ("", "podtemplates"): ("template",),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
#: How far a namespace's pods are looked at when its policy changes.
_MOST_PODS: Final = 3000
_CHECK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Exemptions:
    """The users, namespaces and runtime classes that are not evaluated."""

    users: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()


class PodSecurity:
    name = "PodSecurity"

    def __init__(
        self,
        reader: Reader,
        defaults: NamespacePolicy | None = None,
        exemptions: Exemptions | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._defaults = defaults or NamespacePolicy()
        self._exempt = exemptions or Exemptions()
        self._clock = clock

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        if operation not in ("CREATE", "UPDATE"):
            return False
        if not group and plural == "pods":
            return subresource not in _IGNORED_SUBRESOURCES
        known = (group, plural) in _TEMPLATES or (group, plural) == ("", "namespaces")
        return known and not subresource

    def admit(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> None:
        if attributes.plural == "namespaces":
            self._namespace(attributes)
            return
        if attributes.namespace in self._exempt.namespaces:
            _note(attributes, "exempt", "namespace")
        elif attributes.user.name in self._exempt.users:
            _note(attributes, "exempt", "user")
        elif attributes.plural == "pods":
            self._pod(attributes)
        else:
            self._template(attributes)

    # --- Pods and what makes them

    def _pod(self, attributes: Attributes) -> None:
        namespace = self._reader.get("", "namespaces", "", attributes.namespace)
        if namespace is None:
            raise internal_error(f"failed to lookup namespace {quote(attributes.namespace)}")
        policy, errors = policy_of(namespace["metadata"].get("labels", {}), self._defaults)
        if not errors and policy.fully_privileged:
            _note(attributes, "enforce-policy", str(PRIVILEGED))
            return
        pod = attributes.object
        assert pod is not None
        if attributes.old is not None and not _matters(pod["spec"], attributes.old["spec"]):
            return
        if errors:
            _note(attributes, "error", f"Failed to parse policy: {_aggregate(errors)}")
        self._evaluate(attributes, policy, pod["metadata"], pod["spec"], enforce=True)

    def _template(self, attributes: Attributes) -> None:
        namespace = self._reader.get("", "namespaces", "", attributes.namespace)
        if namespace is None:
            return
        policy, errors = policy_of(namespace["metadata"].get("labels", {}), self._defaults)
        if not errors and policy.warn.level == policy.audit.level == "privileged":
            return
        template: Object | None = attributes.object
        for part in _TEMPLATES[attributes.group, attributes.plural]:
            template = (template or {}).get(part)
        if template is None:
            return
        if errors:
            _note(attributes, "error", f"Failed to parse policy: {_aggregate(errors)}")
        metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
        self._evaluate(attributes, policy, metadata, spec, enforce=False)

    def _evaluate(
        self,
        attributes: Attributes,
        policy: NamespacePolicy,
        metadata: Mapping[str, Any],
        spec: Mapping[str, Any],
        *,
        enforce: bool,
    ) -> None:
        if spec.get("runtimeClassName") in self._exempt.runtime_classes:
            _note(attributes, "exempt", "runtimeClass")
            return
        results = {mode: evaluate(mode, metadata, spec) for mode in {*policy[0 if enforce else 1 :]}}
        if enforce:
            _note(attributes, "enforce-policy", str(policy.enforce))
        if results[policy.audit]:
            _note(attributes, "audit-violations", f"would {_violation(policy.audit, results[policy.audit])}")
        if enforce and results[policy.enforce]:
            why = _violation(policy.enforce, results[policy.enforce], "violates")
            raise forbidden(attributes.group, attributes.plural, attributes.name, why)
        if results[policy.warn]:
            attributes.warnings.append(f"would {_violation(policy.warn, results[policy.warn])}")

    # --- Namespaces

    def _namespace(self, attributes: Attributes) -> None:
        namespace = attributes.object
        assert namespace is not None
        labels = namespace["metadata"].get("labels", {})
        policy, errors = policy_of(labels, self._defaults)
        before: NamespacePolicy | None = None
        if attributes.operation == "UPDATE":
            assert attributes.old is not None
            before, old_errors = policy_of(attributes.old["metadata"].get("labels", {}), self._defaults)
            if errors == old_errors:
                errors = []
        if errors:
            raise invalid("", "Namespace", attributes.name, errors)
        if before is not None and not _stricter(policy.enforce, before.enforce):
            return
        if attributes.namespace in self._exempt.namespaces:
            if warning := self._exempt_warning(attributes.name, policy, labels):
                attributes.warnings.append(warning)
        elif before is not None:
            attributes.warnings.extend(self._violations(attributes.name, policy.enforce))

    def _exempt_warning(self, name: str, policy: NamespacePolicy, labels: dict[str, str]) -> str:
        if policy.fully_privileged or policy.equivalent(self._defaults):
            return ""
        given = [
            f"{mode}={level}"
            for mode, level in zip(NamespacePolicy._fields, policy, strict=True)
            if level.level != "privileged"
            and (PREFIX + mode in labels or f"{PREFIX}{mode}-version" in labels)
        ]
        return (
            f"namespace {quote(name)} is exempt from Pod Security, and the policy ({', '.join(given)}) will "
            "be ignored"
        )

    def _violations(self, namespace: str, enforce: LevelVersion) -> list[str]:
        """Warnings about the pods of a namespace that a new policy would not let in."""
        pods = self._prioritized(self._reader.list("", "pods", namespace))
        by_warning: dict[str, list[str]] = {}
        deadline = self._clock() + _CHECK_S
        checked = 0
        for pod in pods[:_MOST_PODS]:
            checked += 1
            if findings := evaluate(enforce, pod["metadata"], pod["spec"]):
                reason = ", ".join(finding.reason for finding in findings)
                by_warning.setdefault(reason, []).append(pod["metadata"]["name"])
            if self._clock() > deadline:
                break
        warnings = []
        if checked < len(pods):
            warnings.append(
                f"new PodSecurity enforce level only checked against the first {checked} of {len(pods)} "
                "existing pods"
            )
        if by_warning:
            warnings.append(
                f"existing pods in namespace {quote(namespace)} violate the new PodSecurity enforce level "
                f'"{enforce}"'
            )
        return warnings + sorted(f"{_some(names)}: {reason}" for reason, names in by_warning.items())

    def _prioritized(self, pods: Sequence[Object]) -> list[Object]:
        """One pod of each owner first: the others are like it."""
        first, others, owners = [], [], set()
        for pod in pods:
            if pod["spec"].get("runtimeClassName") in self._exempt.runtime_classes:
                continue
            controller = controlling_reference(pod)
            owner = controller["uid"] if controller is not None else None
            if owner is not None and owner in owners:
                others.append(pod)
            else:
                owners.add(owner)
                first.append(pod)
        return first + others


def _note(attributes: Attributes, key: str, value: str) -> None:
    attributes.annotations.setdefault(PREFIX + key, value)


def _violation(policy: LevelVersion, findings: Sequence[Violation], verb: str = "violate") -> str:
    return f'{verb} PodSecurity "{policy}": {", ".join(map(str, findings))}'


def _aggregate(errors: Sequence[object]) -> str:
    text = ", ".join(map(str, errors))
    return text if len(errors) == 1 else f"[{text}]"


def _stricter(new: LevelVersion, old: LevelVersion) -> bool:
    """Whether pods that were fine may not be any more."""
    if new == old or new.level == "privileged":
        return False
    return new.minor != old.minor or strictness(new.level) > strictness(old.level)


def _some(names: list[str]) -> str:
    rest = len(names) - 1
    others = "" if not rest else f" (and {rest} other pod{'' if rest == 1 else 's'})"
    return min(names) + others


def _matters(new: Object, old: Object) -> bool:
    """Whether an update changes what runs: only images can change, and ephemeral containers come."""
    for field in ("containers", "initContainers"):
        images, before = ([c.get("image") for c in spec.get(field) or ()] for spec in (new, old))
        if images != before:
            return True
    known = {c["name"]: c.get("image") for c in old.get("ephemeralContainers") or ()}
    return any(
        c["name"] not in known or known[c["name"]] != c.get("image")
        for c in new.get("ephemeralContainers") or ()
    )
