"""Resources: how much CPU, memory and more a container asks for and may use."""

from __future__ import annotations

from typing import Any, Self

from steersman.objects.builders.part import Part
from steersman.objects.names import is_qualified_name

__all__ = ["Resources"]

Amount = str | int | float


class Resources(Part):
    """`Resources().cpu_request("100m").memory_limit("512Mi")`; amounts are quantities or plain numbers."""

    __slots__ = ()

    def cpu_request(self, amount: Amount) -> Self:
        return self.request("cpu", amount)

    def cpu_limit(self, amount: Amount) -> Self:
        return self.limit("cpu", amount)

    def memory_request(self, amount: Amount) -> Self:
        return self.request("memory", amount)

    def memory_limit(self, amount: Amount) -> Self:
        return self.limit("memory", amount)

    def ephemeral_storage_request(self, amount: Amount) -> Self:
        return self.request("ephemeral-storage", amount)

    def ephemeral_storage_limit(self, amount: Amount) -> Self:
        return self.limit("ephemeral-storage", amount)

    def request(self, resource: str, amount: Amount) -> Self:
        return self._amount("requests", resource, amount)

    def limit(self, resource: str, amount: Amount) -> Self:
        """Any resource by its name; devices take a limit: `limit("nvidia.com/gpu", 1)`."""
        return self._amount("limits", resource, amount)

    def claim(self, name: str, request: str | None = None) -> Self:
        """Use a device claim of the pod."""
        claim = {"name": self._text("claims", name)}
        if request is not None:
            claim["request"] = self._text("claims", request)
        self._object.setdefault("claims", []).append(claim)
        return self

    def _amount(self, side: str, resource: str, amount: Amount) -> Self:
        self._name(side, resource, is_qualified_name)
        field = f"{side}.{resource}"
        self._object.setdefault(side, {})[resource] = self._quantity(field, amount)
        request: Any = self._object.get("requests", {}).get(resource)
        limit: Any = self._object.get("limits", {}).get(resource)
        if request is not None and limit is not None and request != limit:
            self._not_above(f"requests.{resource}", request, limit)
        return self
