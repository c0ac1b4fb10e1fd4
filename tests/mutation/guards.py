"""Which tests guard which module, and which mutants may live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["ALLOWED", "GUARDS", "Guard"]


@dataclass(frozen=True, slots=True)
class Guard:
    #: Path in the package.
    module: str
    #: Fast ones, paths in tests/unit/cluster.
    tests: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        return [f"tests/unit/cluster/{test}" for test in self.tests]


#: Folder → module → the tests that guard it, without `test_` and ending.
_TESTS: Mapping[str, Mapping[str, str]] = {
    "auth": {
        "authentication": "auth/authentication auth/service_accounts auth/authentication_file",
        "authorization": "auth/authorization apiserver/verbs/reviews apiserver/pipeline/access_requests",
        "bootstrap_tokens": "auth/bootstrap_tokens",
        "jwt": "auth/jwt",
        "node_graph": "auth/nodes",
        "nodes": "auth/nodes",
        "oidc": "auth/oidc",
        "pki": "auth/pki auth/authentication apiserver/pipeline/access_certificates",
        "rbac": "auth/rbac",
        "rules": "auth/rules auth/rbac",
        "service_accounts": "auth/service_accounts",
        "signers": "apiserver/pipeline/access_certificates",
        "users": "apiserver/pipeline/access_impersonation apiserver/verbs/reviews",
    },
    "apiserver": {
        "controllers/certificate_signing": "apiserver/pipeline/access_certificates",
        "pipeline/access": "apiserver/pipeline/access_requests apiserver/pipeline/access_impersonation apiserver/pipeline/access_tokens",
        "pipeline/escalation": "apiserver/pipeline/access_escalation",
        "pipeline/gate": "apiserver/audit/auditor apiserver/pipeline/access_http",
        "pipeline/impersonation": "apiserver/pipeline/access_impersonation",
        "subresources/token_requests": "apiserver/pipeline/access_tokens",
        "verbs/reviews": "apiserver/verbs/reviews",
    },
    "admission": {
        "certificates": "admission/certificates",
        "chain": "admission/chain admission/certificates admission/policies_mutating",
        "claims": "admission/claims",
        "classes": "admission/classes",
        "limits": "admission/limits",
        "namespaces": "admission/namespaces",
        "node_pods": "admission/node_restriction",
        "node_restriction": "admission/node_restriction",
        "nodes": "admission/classes admission/pods",
        "placed_pods": "admission/placed_pods",
        "pod_security/baseline": "admission/pod_security_checks admission/pod_security",
        "pod_security/evaluation": "admission/pod_security_checks admission/pod_security",
        "pod_security/violations": "admission/pod_security_checks",
        "pod_security/levels": "admission/pod_security admission/pod_security_checks",
        "pod_security/plugin": "admission/pod_security",
        "pod_security/restricted": "admission/pod_security_checks",
        "pod_totals": "admission/pod_totals",
        "pods": "admission/pods",
        "policies/mutations": "admission/policies_mutating admission/policies_selection",
        "policies/params": "admission/policies_selection admission/policies_validating",
        "policies/selection": "admission/policies_selection admission/policies_validating",
        "quota/checking": "admission/quota",
        "quota/evaluators": "admission/quota_evaluators admission/quota",
        "quota/charges": "admission/quota",
        "quota/recounting": "admission/quota",
        "quota/scopes": "admission/quota_evaluators",
        "runtime_classes": "admission/runtime_classes",
        "service_accounts": "admission/service_accounts",
        "webhooks/authorizer_variable": "admission/webhooks_asking",
        "webhooks/matching": "admission/webhooks_matching admission/webhooks",
        "webhooks/review": "admission/webhooks_review admission/webhooks",
    },
    "schema/validation": {
        "__init__": "small_groups rules quotas",
        "address_checks": "address_checks services discovery networking",
        "admission_expressions": "admission_expressions admission",
        "admission_matching": "admission",
        "admission_policies": "admission admission_expressions",
        "admission_webhooks": "admission",
        "apiextensions": "apiextensions apiextensions_schema",
        "apiregistration": "small_groups",
        "apps": "apps",
        "authorization": "authorization",
        "autoscaling": "autoscaling",
        "batch": "batch",
        "certificates": "certificates",
        "coordination": "small_groups",
        "core_other": "core_other",
        "crd_conversion": "apiextensions",
        "crd_defaults": "apiextensions_schema apiextensions",
        "crd_internal": "apiextensions apiextensions_schema",
        "crd_rules": "apiextensions_schema",
        "crd_schema": "apiextensions_schema apiextensions",
        "crd_versions": "apiextensions apiextensions_schema",
        "crd_warnings": "apiextensions",
        "device_claims": "resource",
        "device_parts": "resource",
        "device_slices": "resource",
        "discovery": "discovery",
        "endpoints": "endpoints",
        "events": "events",
        "flowcontrol": "flowcontrol",
        "go_json": "nodes core_other pods/annotations",
        "job_status": "batch",
        "network_policies": "network_policies",
        "networking": "networking",
        "node": "small_groups",
        "nodes": "nodes",
        "pods/affinity": "pods/affinity pods/spec",
        "pods/annotations": "pods/annotations pods/spec pods/update",
        "pods/binding": "pods/subresources",
        "pods/containers": "pods/containers pods/resources",
        "pods/environment": "pods/environment pods/containers pods/volume_sources",
        "pods/internal": "pods/internal pods/update",
        "pods/mounts": "pods/mounts pods/containers pods/volumes",
        "pods/operating_system": "pods/security pods/spec",
        "pods/paths": "pods/volumes pods/mounts pods/annotations",
        "pods/pod": "pods/update pods/spec pods/annotations pods/volumes",
        "pods/probes": "pods/probes pods/containers",
        "pods/projected": "pods/volume_sources pods/volumes",
        "pods/resources": "pods/resources pods/containers pods/spec",
        "pods/security": "pods/security pods/containers pods/spec",
        "pods/spec": "pods/spec pods/resources pods/environment",
        "pods/status": "pods/status",
        "pods/subresources": "pods/subresources",
        "pods/template": "pods/template apps core_other",
        "pods/volume_sources": "pods/volume_sources pods/volumes",
        "pods/volumes": "pods/volume_sources pods/volumes",
        "policy": "small_groups",
        "quotas": "quotas",
        "rbac": "rbac",
        "resource_names": "quotas nodes",
        "scheduling": "small_groups",
        "services": "services",
        "signers": "certificates",
        "storage": "storage_group",
        "storage_core": "storage_core",
        "storagemigration": "small_groups",
        "volume_sources": "storage_core",
    },
}


def _guards() -> Iterator[Guard]:
    for folder, modules in _TESTS.items():
        # Tests of validation stand beside each other; others guard modules of other folders, too.
        above = f"{folder}/" if folder == "schema/validation" else ""
        for module, names in modules.items():
            parts = (name.rpartition("/") for name in names.split())
            tests = tuple(f"{above}{place}{slash}test_{name}.py" for place, slash, name in parts)
            yield Guard(f"cluster/{folder}/{module}.py", tests)


GUARDS = tuple(_guards())

_SAME_ANSWERS = "Changes what is remembered between requests, never an answer."

#: Mutants that may live, by module and name, each with the reason.
ALLOWED: dict[tuple[str, str], str] = {
    (
        "cluster/auth/rbac.py",
        "RBAC.change_binding: held.pop(name, None) is not None -> (held.pop(name, None) is None)",
    ): "An empty entry of the index is kept; the binding is taken out of it all the same.",
}
