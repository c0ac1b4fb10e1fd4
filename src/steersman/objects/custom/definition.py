"""What a class says of itself as a resource, beside its fields: names, scope, columns, subresources.

Filled from the class keywords of `CustomResource` and checked there and then; `crd` turns it into the
definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self

from steersman.objects.custom.errors import DefinitionError
from steersman.objects.custom.plurals import plural_of
from steersman.objects.names import is_dns1035_label, is_dns1123_subdomain
from steersman.objects.resource_type import ResourceType

__all__ = ["AGE", "Definition", "PrinterColumn", "Scale", "Scope"]

Scope = Literal["Namespaced", "Cluster"]
ColumnType = Literal["string", "integer", "number", "boolean", "date"]


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`: `PrinterColumn("Image", ".spec.image")`.

    Its type is that of the field unless given. Columns of a priority above 0 are shown by `-o wide` only.
    """

    name: str
    json_path: str
    type: ColumnType | None = None
    description: str = ""
    format: str = ""
    priority: int = 0


#: The column that kubectl shows when a resource has none of its own.
AGE: Final = PrinterColumn("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale subresource, for `kubectl scale` and autoscalers: where the counts are."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The class keywords of a custom resource. Names left empty follow from the kind."""

    group: str
    version: str
    kind: str
    plural: str = ""
    singular: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    scope: Scope = "Namespaced"
    columns: Sequence[PrinterColumn] = ()
    scale: Scale | None = None
    selectable_fields: Sequence[str] = ()
    served: bool = True
    storage: bool | None = None
    deprecated: bool | str = False

    @classmethod
    def of_class(cls, name: str, parent: Self | None, given: dict[str, Any]) -> Self | None:
        """What the keywords of class `name` say, on top of its parent's; None for a class that has none."""
        if parent is not None:
            renamed = {"plural": "", "singular": ""} if "kind" in given else {}
            made = replace(parent, **{"storage": None, **renamed, **given})
        elif not given:
            return None
        elif missing := [key for key in ("group", "version") if key not in given]:
            raise DefinitionError(
                f"{name}: a custom resource needs {' and '.join(missing)} as class keywords"
            )
        else:
            made = cls(**{"kind": name, **given})
        made = replace(
            made, plural=made.plural or plural_of(made.kind), singular=made.singular or made.kind.lower()
        )
        made._check(name)
        return made

    @property
    def resource_type(self) -> ResourceType:
        return ResourceType(self.group, self.version, self.kind, self.plural, self.scope == "Namespaced")

    def _check(self, name: str) -> None:
        for label in ("short_names", "categories", "selectable_fields", "columns"):
            if isinstance(getattr(self, label), str):
                raise DefinitionError(f"{name}: {label} is a list, not a text")
        if self.scope not in ("Namespaced", "Cluster"):
            raise DefinitionError(f'{name}: scope is "Namespaced" or "Cluster", not "{self.scope}"')
        if texts := is_dns1123_subdomain(self.group):
            raise DefinitionError(f'{name}: group "{self.group}": {texts[0]}')
        if "." not in self.group:
            raise DefinitionError(f'{name}: group "{self.group}" must be a domain with at least one dot')
        labels = [("version", self.version), ("kind", self.kind.lower())]
        labels += [("plural", self.plural), ("singular", self.singular)]
        labels += [("short name", each) for each in self.short_names]
        labels += [("category", each) for each in self.categories]
        for what, text in labels:
            if problems := is_dns1035_label(text):
                raise DefinitionError(f'{name}: {what} "{text}": {problems[0]}')
