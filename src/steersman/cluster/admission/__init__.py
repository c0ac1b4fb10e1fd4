"""Admission plugins and the chain that asks them, in Kubernetes' order."""

from __future__ import annotations

from collections.abc import Callable, Collection

from steersman.cluster.admission.chain import Attributes, Chain, Plugin, Reader
from steersman.cluster.admission.classes import (
    DefaultIngressClass,
    DefaultStorageClass,
    StorageObjectInUseProtection,
)
from steersman.cluster.admission.namespaces import NamespaceLifecycle
from steersman.cluster.admission.nodes import TaintNodesByCondition
from steersman.cluster.admission.pods import DefaultTolerationSeconds, Priority

__all__ = ["PLUGIN_NAMES", "Attributes", "Chain", "Plugin", "Reader", "build_chain"]

_BUILDERS: dict[str, Callable[[Reader], Plugin]] = {
    "NamespaceLifecycle": NamespaceLifecycle,
    "TaintNodesByCondition": lambda _: TaintNodesByCondition(),
    "Priority": Priority,
    "DefaultTolerationSeconds": lambda _: DefaultTolerationSeconds(),
    "DefaultStorageClass": DefaultStorageClass,
    "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
    "DefaultIngressClass": DefaultIngressClass,
}

#: Every name `--disable-admission` takes: Kubernetes' own, so that scripts for it work here.
PLUGIN_NAMES = (
    "NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity", "Priority",
    "DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning",
    "ClusterTrustBundleAttest", "CertificateSubjectRestriction", "DefaultIngressClass",
    "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook", "ResourceQuota",
)  # fmt: skip


def build_chain(reader: Reader, disabled: Collection[str] = ()) -> Chain:
    return Chain([build(reader) for name, build in _BUILDERS.items() if name not in disabled])
