"""Pod, Deployment, StatefulSet and DaemonSet.

The three that keep pods running select them by labels. When nothing is said, they select `app: NAME` (or
the value of an `app` label the object or its pods were given) and their pods carry it. The selector is
never made from more than that, since it cannot be changed later and labels can. Whatever the selector
asks for is added to the pods' labels; labels that contradict it are an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Literal, Self, get_args

from steersman.objects import resources
from steersman.objects.builders.labels import Selector, label_selector
from steersman.objects.builders.pod_template import PodTemplate
from steersman.objects.builders.storage import PersistentVolumeClaim
from steersman.objects.errors import SelectorError
from steersman.objects.kinds.enums import PodManagementPolicyType
from steersman.objects.labels import labels_of
from steersman.objects.names import NameCheck, is_label_value, name_is_dns_label
from steersman.objects.selectors import LabelSelector

__all__ = ["DaemonSet", "Deployment", "Pod", "StatefulSet"]

ClaimRetention = Literal["Retain", "Delete"]
_POD_MANAGEMENTS: Final = get_args(PodManagementPolicyType)
_CLAIM_RETENTIONS: Final = get_args(ClaimRetention)
_NOTHING: Final = (0, "0%")


class Pod(PodTemplate):
    """`Pod("once").container(…).restart_policy("Never")`; its labels are `labels` or `pod_labels` alike."""

    __slots__ = ()

    resource_type: ClassVar = resources.PODS
    _pod_path: ClassVar[tuple[str, ...]] = ()

    def active_deadline(self, seconds: int) -> Self:
        field = "activeDeadlineSeconds"
        return self._put_spec(field, self._count(f"spec.{field}", seconds, 1))


class _Workload(PodTemplate):
    """What keeps pods running that it selects by their labels."""

    __slots__ = ()

    _restart_policies: ClassVar[tuple[str, ...]] = ("Always",)

    def selector(self, selector: Selector | Mapping[str, str] | None = None, /, **labels: str) -> Self:
        """Which pods are this object's: `selector(app="web")`. It cannot be changed once created."""
        return self._put_spec("selector", label_selector(self._error, "spec.selector", selector, labels))

    def min_ready(self, seconds: int) -> Self:
        """How long a new pod must be ready before it counts as available."""
        return self._put_spec_or_drop("minReadySeconds", self._count("spec.minReadySeconds", seconds))

    def revision_history_limit(self, revisions: int) -> Self:
        field = "revisionHistoryLimit"
        return self._put_spec(field, self._count(f"spec.{field}", revisions))

    def _own_selector(self, obj: dict[str, Any]) -> dict[str, Any]:
        selector: dict[str, Any] = obj["spec"]["selector"]
        return selector

    def _complete(self, obj: dict[str, Any]) -> None:
        spec = obj.setdefault("spec", {})
        labels = spec.setdefault("template", {}).setdefault("metadata", {}).setdefault("labels", {})
        own = labels_of(obj)
        selector = spec.get("selector")
        if selector is None:
            app = labels.get("app") or own.get("app") or self._app()
            spec["selector"] = selector = {"matchLabels": {"app": app}}
        wanted = selector.get("matchLabels") or {}
        for key, value in wanted.items():
            labels.setdefault(key, value)
            if own.get(key, value) != value:
                problem = f"{key} is {own[key]!r}, but the selector asks for {value!r}"
                raise self._error("metadata.labels", problem)
        self._check_selector(selector, labels)
        super()._complete(obj)

    def _app(self) -> str:
        name: str = self.metadata.get("name", "")
        if not name or is_label_value(name):
            raise self._error("spec.selector", "the name cannot be used as a label here; give a selector")
        return name

    def _check_selector(self, selector: dict[str, Any], labels: dict[str, str]) -> None:
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            raise self._error("spec.selector", "is empty: it would select every pod of the namespace")
        matches = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
        if matches and selector.get("matchExpressions"):
            try:
                matches = LabelSelector.from_object(selector).matches(labels)
            except SelectorError as error:
                raise self._error("spec.selector", str(error)) from None
        if not matches:
            raise self._error("spec.selector", f"does not match the labels of its own pods, {labels}")

    def _put_update(self, field: str, kind: str, settings: Mapping[str, int | str | None]) -> Self:
        """How pods are replaced when the template changes."""
        strategy: dict[str, Any] = {"type": kind}
        given = {key: value for key, value in settings.items() if value is not None}
        for key, value in given.items():
            self._count_or_percent(f"spec.{field}.rollingUpdate.{key}", value)
        if given:
            strategy["rollingUpdate"] = given
        return self._put_spec(field, strategy)

    def _check_movable(self, field: str, surge: int | str | None, unavailable: int | str | None) -> None:
        if surge in _NOTHING and unavailable in _NOTHING:
            problem = "max_surge and max_unavailable are both 0, so that no pod could be replaced"
            raise self._error(f"spec.{field}.rollingUpdate", problem)


class Deployment(_Workload):
    """`Deployment("web").replicas(3).container(Container("app").image("nginx:1.27").port(80))`."""

    __slots__ = ()

    resource_type: ClassVar = resources.DEPLOYMENTS

    def replicas(self, count: int) -> Self:
        return self._put_spec("replicas", self._count("spec.replicas", count))

    def rolling_update(
        self, *, max_surge: int | str | None = None, max_unavailable: int | str | None = None
    ) -> Self:
        """Replace pods bit by bit; counts or percentages such as "25%"."""
        self._check_movable("strategy", max_surge, max_unavailable)
        settings = {"maxSurge": max_surge, "maxUnavailable": max_unavailable}
        return self._put_update("strategy", "RollingUpdate", settings)

    def recreate(self) -> Self:
        """Stop all old pods before the first new one starts."""
        return self._put_update("strategy", "Recreate", {})

    def progress_deadline(self, seconds: int) -> Self:
        """After this long without progress the rollout counts as failed."""
        field = "progressDeadlineSeconds"
        return self._put_spec(field, self._count(f"spec.{field}", seconds, 1))

    def paused(self, value: bool = True) -> Self:
        return self._put_spec_or_drop("paused", self._flag("spec.paused", value))


class StatefulSet(_Workload):
    """Pods with stable names and storage: `NAME-0`, `NAME-1`, …"""

    __slots__ = ()

    resource_type: ClassVar = resources.STATEFUL_SETS
    _name_rule: ClassVar[NameCheck] = staticmethod(name_is_dns_label)

    def replicas(self, count: int) -> Self:
        return self._put_spec("replicas", self._count("spec.replicas", count))

    def service_name(self, service: str) -> Self:
        """The headless service under which DNS knows each pod."""
        return self._put_spec("serviceName", self._name("spec.serviceName", service, name_is_dns_label))

    def volume_claim_template(self, claim: PersistentVolumeClaim) -> Self:
        """A claim for every pod; containers mount it by the claim's name."""
        field = "volumeClaimTemplates"
        if not isinstance(claim, PersistentVolumeClaim):
            raise self._error(f"spec.{field}", f"must be a PersistentVolumeClaim, not {claim!r}")
        templates = self._edit_spec().setdefault(field, [])
        if any(claim.name == other["metadata"].get("name") for other in templates):
            raise self._error(f"spec.{field}", f"two are called {claim.name!r}")
        whole = claim.to_object()
        templates.append({"metadata": whole["metadata"], "spec": whole["spec"]})
        return self

    def claim_retention(
        self, *, when_deleted: ClaimRetention = "Retain", when_scaled: ClaimRetention = "Retain"
    ) -> Self:
        """Whether the pods' claims go with the set, or with pods that are scaled away."""
        field = "persistentVolumeClaimRetentionPolicy"
        policy = {"whenDeleted": when_deleted, "whenScaled": when_scaled}
        for value in policy.values():
            self._choice(f"spec.{field}", value, _CLAIM_RETENTIONS)
        return self._put_spec(field, policy)

    def pod_management(self, policy: PodManagementPolicyType) -> Self:
        """OrderedReady starts one pod after the other, Parallel all at once."""
        field = "podManagementPolicy"
        return self._put_spec(field, self._choice(f"spec.{field}", policy, _POD_MANAGEMENTS))

    def first_ordinal(self, number: int) -> Self:
        return self._put_spec("ordinals", {"start": self._count("spec.ordinals.start", number)})

    def rolling_update(
        self, *, partition: int | None = None, max_unavailable: int | str | None = None
    ) -> Self:
        """Replace pods from the last to the first, but none below the partition."""
        if partition is not None:
            self._count("spec.updateStrategy.rollingUpdate.partition", partition)
        settings = {"partition": partition, "maxUnavailable": max_unavailable}
        return self._put_update("updateStrategy", "RollingUpdate", settings)

    def on_delete(self) -> Self:
        """Replace a pod only when someone deletes it."""
        return self._put_update("updateStrategy", "OnDelete", {})

    def _claim_templates(self, obj: dict[str, Any]) -> Iterable[str]:
        return [claim["metadata"]["name"] for claim in obj["spec"].get("volumeClaimTemplates") or ()]


class DaemonSet(_Workload):
    """One pod on every node."""

    __slots__ = ()

    resource_type: ClassVar = resources.DAEMON_SETS

    def rolling_update(
        self, *, max_unavailable: int | str | None = None, max_surge: int | str | None = None
    ) -> Self:
        """Stop the old pods of so many nodes, or start so many new ones beside them: one of the two.

        Counts or percentages such as "10%".
        """
        self._check_movable("updateStrategy", max_surge, max_unavailable)
        if max_surge not in (None, *_NOTHING):
            if max_unavailable not in (None, *_NOTHING):
                problem = "max_surge and max_unavailable do not go together"
                raise self._error("spec.updateStrategy.rollingUpdate", problem)
            # Left out, it would become 1.
            max_unavailable = 0
        settings = {"maxUnavailable": max_unavailable, "maxSurge": max_surge}
        return self._put_update("updateStrategy", "RollingUpdate", settings)

    def on_delete(self) -> Self:
        """Replace a pod only when someone deletes it."""
        return self._put_update("updateStrategy", "OnDelete", {})
