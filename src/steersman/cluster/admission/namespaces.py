"""The NamespaceLifecycle plugin: rejects creates in missing and terminating namespaces, and deleting system
namespaces.
"""

from __future__ import annotations

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.objects.status import forbidden, not_found

__all__ = ["NamespaceLifecycle"]

#: Namespaces the cluster cannot do without.
IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
#: Reviews are questions, not content: they are answered in any namespace.
_NAMESPACELESS_REVIEWS = frozenset({"localsubjectaccessreviews"})


class NamespaceLifecycle:
    name = "NamespaceLifecycle"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        if operation == "DELETE":
            return not group and plural == "namespaces"
        return operation == "CREATE" and plural not in _NAMESPACELESS_REVIEWS

    def admit(self, attributes: Attributes) -> None:
        if attributes.operation == "DELETE":
            if attributes.name in IMMORTAL:
                raise forbidden("", "namespaces", attributes.name, "this namespace may not be deleted")
            return
        if not attributes.namespace or (attributes.plural == "namespaces" and not attributes.group):
            return
        namespace = self._reader.get("", "namespaces", "", attributes.namespace)
        if namespace is None:
            raise not_found("", "namespaces", attributes.namespace)
        if namespace["status"].get("phase") != "Terminating":
            return
        error = attributes.refusal(
            f"unable to create new content in namespace {attributes.namespace} because it is being terminated"
        )
        assert error.details is not None
        error.details["causes"] = [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {attributes.namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        raise error

    def validate(self, attributes: Attributes) -> None:
        return None
