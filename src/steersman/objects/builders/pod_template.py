"""PodTemplate: what everything that has pods can say about them; and the checks of a whole pod.

Deployment, StatefulSet, DaemonSet, Job, CronJob and Pod differ only in where the pod stands in the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Self, get_args

from steersman.objects.builders.affinity import Affinity, fill_own_selector
from steersman.objects.builders.container import Container
from steersman.objects.builders.labels import (
    Selector,
    checked_annotations,
    checked_labels,
    label_selector,
)
from steersman.objects.builders.part import copied, put_or_drop
from steersman.objects.builders.pod_checks import check_pod
from steersman.objects.builders.resource import Resource
from steersman.objects.builders.security import PodSecurityContext
from steersman.objects.builders.volume import Volume
from steersman.objects.kinds.enums import DNSPolicy, RestartPolicy, TaintEffect, UnsatisfiableConstraintAction
from steersman.objects.names import is_dns1123_label, is_label_key

__all__ = ["PodTemplate"]

_RESTART_POLICIES: Final[tuple[str, ...]] = get_args(RestartPolicy)
_DNS_POLICIES: Final = get_args(DNSPolicy)
_EFFECTS: Final = get_args(TaintEffect)
_UNSATISFIABLE: Final = get_args(UnsatisfiableConstraintAction)
_EMPTY: Final[Mapping[str, str]] = {}


class PodTemplate(Resource):
    """A resource that has pods, or is one."""

    __slots__ = ()

    #: Where the pod's metadata and spec stand in the object.
    _pod_path: ClassVar[tuple[str, ...]] = ("spec", "template")
    #: What the API allows this kind to say.
    _restart_policies: ClassVar[tuple[str, ...]] = _RESTART_POLICIES

    # --- Containers and volumes

    def container(self, container: Container) -> Self:
        return self._add_container("containers", container)

    def init_container(self, container: Container) -> Self:
        """Runs to its end before the containers start; several run one after the other."""
        return self._add_container("initContainers", container)

    def sidecar(self, container: Container) -> Self:
        """Starts before the containers and runs beside them (an init container that is always restarted)."""
        self._add_container("initContainers", container)
        self._pod_spec()["initContainers"][-1]["restartPolicy"] = "Always"
        return self

    def volume(self, volume: Volume) -> Self:
        if not isinstance(volume, Volume):
            raise self._error(self._at("volumes"), f"must be a Volume, not {volume!r}")
        return self._add_named("volumes", volume.to_object())

    # --- The pod's own metadata

    def pod_label(self, key: str, value: str) -> Self:
        return self.pod_labels({key: value})

    def pod_labels(self, labels: Mapping[str, str] = _EMPTY, /, **more: str) -> Self:
        """Labels of the pods themselves, which services and policies select by."""
        given = checked_labels(self._error, "the pods' labels", {**labels, **more})
        if given:
            self._pod_table("labels").update(given)
        return self

    def pod_annotation(self, key: str, value: str) -> Self:
        return self.pod_annotations({key: value})

    def pod_annotations(self, annotations: Mapping[str, str] = _EMPTY, /, **more: str) -> Self:
        given = checked_annotations(self._error, "the pods' annotations", {**annotations, **more})
        if given:
            self._pod_table("annotations").update(given)
        return self

    # --- Identity and rights

    def service_account(self, name: str) -> Self:
        return self._put_pod("serviceAccountName", self._name(self._at("serviceAccountName"), name))

    def automount_service_account_token(self, value: bool = True) -> Self:
        return self._put_flag("automountServiceAccountToken", value)

    def image_pull_secret(self, secret: str) -> Self:
        return self._add_named("imagePullSecrets", {"name": self._name(self._at("imagePullSecrets"), secret)})

    def security_context(self, context: PodSecurityContext) -> Self:
        if not isinstance(context, PodSecurityContext):
            raise self._error(self._at("securityContext"), f"must be a PodSecurityContext, not {context!r}")
        return self._put_pod("securityContext", context.to_object())

    # --- Where it runs

    def node_selector(self, labels: Mapping[str, str] = _EMPTY, /, **more: str) -> Self:
        """Only nodes that have all these labels."""
        given = checked_labels(self._error, self._at("nodeSelector"), {**labels, **more})
        if given:
            self._pod_spec().setdefault("nodeSelector", {}).update(given)
        return self

    def node_name(self, name: str) -> Self:
        """This node, past the scheduler."""
        return self._put_pod("nodeName", self._name(self._at("nodeName"), name))

    def affinity(self, affinity: Affinity) -> Self:
        if not isinstance(affinity, Affinity):
            raise self._error(self._at("affinity"), f"must be an Affinity, not {affinity!r}")
        return self._put_pod("affinity", affinity.to_object())

    def toleration(
        self,
        key: str | None = None,
        value: str | None = None,
        *,
        effect: TaintEffect | None = None,
        seconds: int | None = None,
    ) -> Self:
        """Run in spite of a taint: any value unless one is given, any effect unless one is given.

        `seconds` is how long to stay when a NoExecute taint appears. No key at all tolerates everything.
        """
        field = self._at("tolerations")
        toleration: dict[str, Any] = {}
        if key is not None:
            toleration["key"] = self._name(field, key, is_label_key)
        if value is None:
            toleration["operator"] = "Exists"
        elif key is None:
            raise self._error(field, "a value needs a key")
        elif value:
            toleration["value"] = value
        if effect is not None:
            toleration["effect"] = self._choice(field, effect, _EFFECTS)
        if seconds is not None:
            if effect != "NoExecute":
                raise self._error(field, "seconds go with the effect NoExecute")
            toleration["tolerationSeconds"] = self._count(field, seconds)
        self._pod_spec().setdefault("tolerations", []).append(toleration)
        return self

    def topology_spread(
        self,
        topology_key: str,
        *,
        max_skew: int = 1,
        when_unsatisfiable: UnsatisfiableConstraintAction = "DoNotSchedule",
        min_domains: int | None = None,
        selector: Selector | Mapping[str, str] | None = None,
    ) -> Self:
        """Spread evenly over zones or nodes; the pods counted are the workload's own unless selected."""
        field = self._at("topologySpreadConstraints")
        constraint: dict[str, Any] = {
            "maxSkew": self._count(field, max_skew, 1),
            "topologyKey": self._name(field, topology_key, is_label_key),
            "whenUnsatisfiable": self._choice(field, when_unsatisfiable, _UNSATISFIABLE),
        }
        if min_domains is not None:
            if when_unsatisfiable != "DoNotSchedule":
                raise self._error(field, "min_domains go with DoNotSchedule")
            constraint["minDomains"] = self._count(field, min_domains, 1)
        if selector is not None:
            constraint["labelSelector"] = label_selector(self._error, field, selector, {})
        self._pod_spec().setdefault("topologySpreadConstraints", []).append(constraint)
        return self

    def priority_class(self, name: str) -> Self:
        return self._put_pod("priorityClassName", self._name(self._at("priorityClassName"), name))

    def runtime_class(self, name: str) -> Self:
        return self._put_pod("runtimeClassName", self._name(self._at("runtimeClassName"), name))

    def scheduler_name(self, name: str) -> Self:
        return self._put_pod("schedulerName", self._text(self._at("schedulerName"), name))

    # --- Network

    def hostname(self, name: str, subdomain: str | None = None) -> Self:
        """The pod's host name, and the headless service under which DNS knows it."""
        self._put_pod("hostname", self._name(self._at("hostname"), name, is_dns1123_label))
        if subdomain is not None:
            self._put_pod("subdomain", self._name(self._at("subdomain"), subdomain, is_dns1123_label))
        return self

    def host_network(self, value: bool = True) -> Self:
        return self._put_host("hostNetwork", value)

    def host_pid(self, value: bool = True) -> Self:
        return self._put_host("hostPID", value)

    def host_ipc(self, value: bool = True) -> Self:
        return self._put_host("hostIPC", value)

    def host_alias(self, ip: str, *hostnames: str | Iterable[str]) -> Self:
        """A line of the pod's /etc/hosts."""
        field = self._at("hostAliases")
        alias = {"ip": self._text(field, ip), "hostnames": self._texts(field, hostnames)}
        self._pod_spec().setdefault("hostAliases", []).append(alias)
        return self

    def dns_policy(self, policy: DNSPolicy) -> Self:
        return self._put_pod("dnsPolicy", self._choice(self._at("dnsPolicy"), policy, _DNS_POLICIES))

    def dns_config(
        self,
        *,
        nameservers: Iterable[str] = (),
        searches: Iterable[str] = (),
        options: Mapping[str, str | None] | None = None,
    ) -> Self:
        """More (with the policy None: all) of the pod's resolv.conf; an option may be without value."""
        field = self._at("dnsConfig")
        config: dict[str, Any] = {}
        if names := self._texts(field, [nameservers]):
            config["nameservers"] = names
        if names := self._texts(field, [searches]):
            config["searches"] = names
        if options:
            self._texts(field, [value for value in options.values() if value is not None])
            config["options"] = [
                {"name": name} if value is None else {"name": name, "value": value}
                for name, value in options.items()
            ]
        return self._put_pod("dnsConfig", config)

    def enable_service_links(self, value: bool = True) -> Self:
        """Whether every service of the namespace becomes environment variables."""
        return self._put_flag("enableServiceLinks", value)

    # --- Life

    def restart_policy(self, policy: RestartPolicy) -> Self:
        allowed = self._restart_policies
        return self._put_pod("restartPolicy", self._choice(self._at("restartPolicy"), policy, allowed))

    def termination_grace_period(self, seconds: int) -> Self:
        field = "terminationGracePeriodSeconds"
        return self._put_pod(field, self._count(self._at(field), seconds))

    def share_process_namespace(self, value: bool = True) -> Self:
        return self._put_flag("shareProcessNamespace", value)

    def readiness_gate(self, condition: str) -> Self:
        """The pod is ready only when this condition is, too."""
        gate = {"conditionType": self._name(self._at("readinessGates"), condition, is_label_key)}
        self._pod_spec().setdefault("readinessGates", []).append(gate)
        return self

    # --- How it is put together

    def _at(self, field: str) -> str:
        return ".".join((*self._pod_path, "spec", field))

    def _pod(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The part of the object that is the pod, made if need be."""
        for step in self._pod_path:
            obj = obj.setdefault(step, {})
        return obj

    def _pod_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self._pod(self._edit()).setdefault("spec", {})
        return spec

    def _pod_table(self, field: str) -> dict[str, str]:
        table: dict[str, str] = self._pod(self._edit()).setdefault("metadata", {}).setdefault(field, {})
        return table

    def _put_pod(self, field: str, value: Any) -> Self:
        self._pod_spec()[field] = value
        return self

    def _put_flag(self, field: str, value: bool) -> Self:
        return self._put_pod(field, self._flag(self._at(field), value))

    def _put_host(self, field: str, value: bool) -> Self:
        put_or_drop(self._pod_spec(), field, self._flag(self._at(field), value))
        return self

    def _add_container(self, field: str, container: Container) -> Self:
        if not isinstance(container, Container):
            raise self._error(self._at(field), f"must be a Container, not {container!r}")
        return self._add_named(field, container.to_object())

    def _add_named(self, field: str, item: dict[str, Any]) -> Self:
        items = self._pod_spec().setdefault(field, [])
        name = item["name"]
        if any(other.get("name") == name for other in items):
            raise self._error(self._at(field), f"two are called {name!r}")
        items.append(item)
        return self

    def _claim_templates(self, obj: dict[str, Any]) -> Iterable[str]:
        """The names of volumes that come from elsewhere than the pod."""
        return ()

    def _own_selector(self, obj: dict[str, Any]) -> dict[str, Any] | None:
        """What selects the pods of this object."""
        labels = (self._pod(obj).get("metadata") or {}).get("labels")
        return {"matchLabels": labels} if labels else None

    def _complete(self, obj: dict[str, Any]) -> None:
        spec = self._pod(obj).setdefault("spec", {})
        check_pod(self._error, ".".join((*self._pod_path, "spec")), spec, self._claim_templates(obj))
        spreads = [one for one in spec.get("topologySpreadConstraints") or () if "labelSelector" not in one]
        affinity = spec.get("affinity")
        if not spreads and not affinity:
            return
        own = self._own_selector(obj)
        if own is None:
            if spreads:
                problem = "the pods have no labels to be counted by; give a selector or pod_labels"
                raise self._error(self._at("topologySpreadConstraints"), problem)
            return
        for constraint in spreads:
            constraint["labelSelector"] = copied(own)
        if affinity:
            fill_own_selector(affinity, own)
