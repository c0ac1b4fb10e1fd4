"""ServiceAccount, Role, ClusterRole, their bindings and PolicyRule: who may do what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Self

from steersman.objects import resources
from steersman.objects.builders.labels import Selector, label_selector
from steersman.objects.builders.part import Part
from steersman.objects.builders.resource import ClusterResource, Resource
from steersman.objects.names import NameCheck, is_path_segment_name, name_is_dns_label, name_is_path_segment

__all__ = ["ClusterRole", "ClusterRoleBinding", "PolicyRule", "Role", "RoleBinding", "ServiceAccount"]

_GROUP: Final = "rbac.authorization.k8s.io"


class ServiceAccount(Resource):
    """The identity of pods: `ServiceAccount("my-sa")`."""

    __slots__ = ()

    resource_type: ClassVar = resources.SERVICE_ACCOUNTS

    def automount_token(self, value: bool = True) -> Self:
        field = "automountServiceAccountToken"
        return self._put(field, self._flag(field, value))

    def image_pull_secret(self, secret: str) -> Self:
        """For the pods of this account that name none themselves."""
        entry = {"name": self._name("imagePullSecrets", secret)}
        secrets = self._edit().setdefault("imagePullSecrets", [])
        if entry not in secrets:
            secrets.append(entry)
        return self


class PolicyRule(Part):
    """`PolicyRule().api_groups("").resources("pods").verbs("get", "list")`; lists will do as well."""

    __slots__ = ()

    def api_groups(self, *groups: str | Iterable[str]) -> Self:
        """The core group is the empty string."""
        return self._put_or_drop("apiGroups", self._texts("apiGroups", groups))

    def resources(self, *resources: str | Iterable[str]) -> Self:
        """In the plural, subresources after a slash: `"pods/log"`."""
        return self._put_or_drop("resources", self._texts("resources", resources))

    def verbs(self, *verbs: str | Iterable[str]) -> Self:
        return self._put_or_drop("verbs", self._texts("verbs", verbs))

    def resource_names(self, *names: str | Iterable[str]) -> Self:
        """Only these objects; list, watch and create cannot be limited so."""
        return self._put_or_drop("resourceNames", self._texts("resourceNames", names))

    def non_resource_urls(self, *urls: str | Iterable[str]) -> Self:
        """Paths of the API server such as "/metrics"; in cluster roles only."""
        return self._put_or_drop("nonResourceURLs", self._texts("nonResourceURLs", urls))

    def to_object(self) -> dict[str, Any]:
        made = super().to_object()
        if not made.get("verbs"):
            raise self._error("verbs", "is empty, so that the rule allows nothing")
        if made.get("nonResourceURLs"):
            if made.get("resources") or made.get("apiGroups"):
                raise self._error("nonResourceURLs", "a rule is either about resources or about URLs")
        elif not made.get("resources"):
            raise self._error("resources", "is empty, so that the rule allows nothing")
        elif not made.get("apiGroups"):
            raise self._error("apiGroups", "is empty; the core group is api_groups('')")
        return made


class _Rules(Resource):
    """What both kinds of role are."""

    __slots__ = ()

    _name_rule: ClassVar[NameCheck] = staticmethod(name_is_path_segment)

    def rule(self, rule: PolicyRule) -> Self:
        if not isinstance(rule, PolicyRule):
            raise self._error("rules", f"must be a PolicyRule, not {rule!r}")
        made = rule.to_object()
        if "nonResourceURLs" in made and self.resource_type.namespaced:
            raise self._error("rules", "URLs can be allowed by cluster roles only")
        self._edit().setdefault("rules", []).append(made)
        return self


class Role(_Rules):
    """Rights inside one namespace."""

    __slots__ = ()

    resource_type: ClassVar = resources.ROLES


class ClusterRole(ClusterResource, _Rules):
    """Rights in all namespaces and on what is in none."""

    __slots__ = ()

    resource_type: ClassVar = resources.CLUSTER_ROLES

    def aggregate(self, selector: Selector | Mapping[str, str] | None = None, /, **labels: str) -> Self:
        """Also the rules of all cluster roles with these labels; the cluster keeps them up to date."""
        made = label_selector(self._error, "aggregationRule", selector, labels)
        rule = self._edit().setdefault("aggregationRule", {"clusterRoleSelectors": []})
        rule["clusterRoleSelectors"].append(made)
        return self

    def _complete(self, obj: dict[str, Any]) -> None:
        if "aggregationRule" in obj and obj.get("rules"):
            raise self._error("rules", "those of an aggregated role are made by the cluster")


class _Binding(Resource):
    """Who has the rights of one role. The role cannot be changed once the binding is created."""

    __slots__ = ()

    _name_rule: ClassVar[NameCheck] = staticmethod(name_is_path_segment)

    def cluster_role(self, name: str) -> Self:
        return self._role("ClusterRole", name)

    def user(self, name: str) -> Self:
        return self._subject({"kind": "User", "name": self._text("subjects", name), "apiGroup": _GROUP})

    def group(self, name: str) -> Self:
        return self._subject({"kind": "Group", "name": self._text("subjects", name), "apiGroup": _GROUP})

    def _account(self, name: str, namespace: str) -> Self:
        subject = {
            "kind": "ServiceAccount",
            "name": self._name("subjects", name),
            "namespace": self._name("subjects", namespace, name_is_dns_label),
        }
        return self._subject(subject)

    def _role(self, kind: str, name: str) -> Self:
        reference = {
            "apiGroup": _GROUP,
            "kind": kind,
            "name": self._name("roleRef", name, is_path_segment_name),
        }
        present = self._object.get("roleRef")
        if present is not None and present != reference:
            raise self._error("roleRef", f"is the {present['kind']} {present['name']!r} already")
        return self._put("roleRef", reference)

    def _subject(self, subject: dict[str, str]) -> Self:
        subjects = self._edit().setdefault("subjects", [])
        if subject not in subjects:
            subjects.append(subject)
        return self

    def _complete(self, obj: dict[str, Any]) -> None:
        if not obj.get("roleRef"):
            raise self._error("roleRef", "which role?")
        if not obj.get("subjects"):
            raise self._error("subjects", "has no subjects")


class RoleBinding(_Binding):
    """`RoleBinding("b").role("my-role").service_account("my-sa", "default")`: rights in its namespace."""

    __slots__ = ()

    resource_type: ClassVar = resources.ROLE_BINDINGS

    def role(self, name: str) -> Self:
        return self._role("Role", name)

    def service_account(self, name: str, namespace: str | None = None) -> Self:
        """An account of the namespace given, or of the one this binding was made for."""
        where = namespace or self.namespace
        if where is None:
            problem = f"in which namespace is {name!r}? Give it here, or the binding its own first"
            raise self._error("subjects", problem)
        return self._account(name, where)


class ClusterRoleBinding(ClusterResource, _Binding):
    """`ClusterRoleBinding("b").cluster_role("r").service_account("my-sa", "default")`: rights everywhere."""

    __slots__ = ()

    resource_type: ClassVar = resources.CLUSTER_ROLE_BINDINGS

    def service_account(self, name: str, namespace: str) -> Self:
        return self._account(name, namespace)
