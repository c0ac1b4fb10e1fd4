"""The admission plugins of kube-apiserver and the chain that calls them, in Kubernetes' order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from steersman.cluster.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from steersman.cluster.admission.chain import (
    AdmissionChain,
    AdmissionPlugin,
    Attributes,
    PendingEffect,
    Reader,
)
from steersman.cluster.admission.claims import PersistentVolumeClaimResize
from steersman.cluster.admission.classes import (
    DefaultIngressClass,
    DefaultStorageClass,
    StorageObjectInUseProtection,
)
from steersman.cluster.admission.limits import LimitRanger
from steersman.cluster.admission.namespaces import NamespaceLifecycle
from steersman.cluster.admission.node_restriction import NodeRestriction
from steersman.cluster.admission.nodes import TaintNodesByCondition
from steersman.cluster.admission.owner_references import OwnerReferencesPermissionEnforcement, ResourcesOf
from steersman.cluster.admission.placed_pods import PodResizeValidator, PodTopologyLabels
from steersman.cluster.admission.pod_security import PodSecurity
from steersman.cluster.admission.pods import DefaultTolerationSeconds, Priority
from steersman.cluster.admission.quota import ResourceQuota
from steersman.cluster.admission.runtime_classes import RuntimeClass
from steersman.cluster.admission.service_accounts import ServiceAccount
from steersman.cluster.auth.authorization import Authorizer

__all__ = [
    "OPTIONAL_PLUGINS",
    "PLUGIN_NAMES",
    "AdmissionChain",
    "AdmissionPlugin",
    "Attributes",
    "PendingEffect",
    "Reader",
    "ResourceQuota",
    "build_chain",
]

#: Every name `--enable-admission` and `--disable-admission` take: Kubernetes' own, so that scripts for it
#: work here; in the order in which plugins are asked.
PLUGIN_NAMES = (
    "NamespaceLifecycle", "LimitRanger", "ServiceAccount", "NodeRestriction", "TaintNodesByCondition",
    "PodSecurity", "Priority", "DefaultTolerationSeconds", "DefaultStorageClass",
    "StorageObjectInUseProtection", "OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize",
    "RuntimeClass", "CertificateApproval", "CertificateSigning", "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction", "DefaultIngressClass", "PodTopologyLabels", "PodResizeValidator",
    "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook", "ResourceQuota",
)  # fmt: skip
#: Those that are asked only where they are enabled.
OPTIONAL_PLUGINS = frozenset(("OwnerReferencesPermissionEnforcement",))

#: Plugins that need only look at stored objects.
_BUILDERS: dict[str, Callable[[Reader], AdmissionPlugin]] = {
    "NamespaceLifecycle": NamespaceLifecycle,
    "LimitRanger": LimitRanger,
    "TaintNodesByCondition": lambda _: TaintNodesByCondition(),
    "PodSecurity": PodSecurity,
    "Priority": Priority,
    "DefaultTolerationSeconds": lambda _: DefaultTolerationSeconds(),
    "DefaultStorageClass": DefaultStorageClass,
    "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
    "PersistentVolumeClaimResize": PersistentVolumeClaimResize,
    "RuntimeClass": RuntimeClass,
    "CertificateSubjectRestriction": lambda _: CertificateSubjectRestriction(),
    "DefaultIngressClass": DefaultIngressClass,
    "PodTopologyLabels": PodTopologyLabels,
    "PodResizeValidator": PodResizeValidator,
}

#: Plugins that ask what users may do besides.
_AUTHORIZED_BUILDERS: dict[str, Callable[[Reader, Authorizer], AdmissionPlugin]] = {
    "NodeRestriction": NodeRestriction,
    "CertificateApproval": lambda _, authorizer: CertificateApproval(authorizer),
    "CertificateSigning": lambda _, authorizer: CertificateSigning(authorizer),
    "ClusterTrustBundleAttest": lambda _, authorizer: ClusterTrustBundleAttest(authorizer),
}


def build_chain(
    reader: Reader,
    disabled: Collection[str] = (),
    *,
    enabled: Collection[str] = (),
    authorizer: Authorizer | None = None,
    resources_of: ResourcesOf = lambda _: (),
    lenient_default_account: bool = True,
    others: Iterable[AdmissionPlugin] = (),
) -> AdmissionChain:
    """The plugins that are not disabled, and the optional ones that are `enabled`. `others` are those that
    need more than is known here: webhooks, policies, ResourceQuota; their names say where they belong.
    Without an authorizer, plugins that ask one are left out."""
    plugins = [build(reader) for build in _BUILDERS.values()]
    plugins.append(ServiceAccount(reader, lenient_default=lenient_default_account))
    if authorizer is not None:
        plugins += [build(reader, authorizer) for build in _AUTHORIZED_BUILDERS.values()]
        plugins.append(OwnerReferencesPermissionEnforcement(authorizer, resources_of))
    plugins += others
    left_out = {*disabled, *OPTIONAL_PLUGINS.difference(enabled)}
    chosen = [plugin for plugin in plugins if plugin.name not in left_out]
    return AdmissionChain(sorted(chosen, key=lambda plugin: PLUGIN_NAMES.index(plugin.name)), PLUGIN_NAMES)
