"""Objects as YAML for people and repositories: the same ones are the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

__all__ = ["as_yaml"]


class _Plain(yaml.SafeDumper):
    """Without anchors: values that are equal are not the same to who reads them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Several lines stay several lines."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _text)


def as_yaml(*objects: Mapping[str, Any]) -> str:
    """One document for each."""
    return yaml.dump_all(objects, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=110)
