"""Asking one plugin, and what it answers when it says no."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from steersman.cluster.admission import Attributes
from steersman.objects.status import StatusError


class Asked(Protocol):
    def admit(self, attributes: Attributes) -> Any: ...

    def validate(self, attributes: Attributes) -> Any: ...


def ask(plugin: Asked, attributes: Attributes) -> Attributes:
    """Both rounds of a plugin that does not wait."""
    assert plugin.admit(attributes) is None
    assert plugin.validate(attributes) is None
    return attributes


def refused(plugin: Asked, attributes: Attributes) -> StatusError:
    with pytest.raises(StatusError) as caught:
        ask(plugin, attributes)
    return caught.value


def why(plugin: Asked, attributes: Attributes) -> str:
    """The words of a refusal after `PLURAL "NAME" is forbidden: `."""
    error = refused(plugin, attributes)
    assert (error.code, error.reason) == (403, "Forbidden"), error.message
    head, _, text = error.message.partition(" is forbidden: ")
    assert head.startswith(attributes.plural), error.message
    return text
