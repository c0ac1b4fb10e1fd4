"""The term on a leader's writes: which leadership an object was last written by.

A leader leaves its term in the annotation `steersman.dev/term` of what it writes, so that the API server can
refuse whoever led before (see `fencing`). A term is no reason to write: objects that are as they should be
keep the term they have. Where the server spells values differently from how they are given, whether an apply
changes anything is found out by sending it; there the first apply of a new leader leaves its term.

    children                                the annotation is part of what is applied
    status without a subresource            the annotation is part of the patch
    status as a subresource, finalizers     no term: they carry the version, or the very list, they were made
                                            from, and are refused when the object has moved on
    deletes                                 no term: they carry the uid, and what is deleted stays deleted

`Children` and `StatusWriter` are the callers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steersman.objects.kinds import Object
from steersman.objects.labels import annotations_of
from steersman.objects.patches.apply.matching import applied_fields

__all__ = ["TERM", "with_term", "with_term_of", "without_term"]


TERM = "steersman.dev/term"


def with_term(config: Object, term: int) -> Object:
    """What a leader of this term sends; without one (0), what was given."""
    return _annotated(config, str(term)) if term else config


def with_term_of(live: Mapping[str, Any], config: Object, manager: str) -> Object:
    """`config` with the term that `manager` gave to `live`, for comparing the two whatever the term is now.

    Without a term if the annotation is missing or somebody else's: that is no reason to write either.
    """
    term = annotations_of(live).get(TERM)
    if term is None:
        return config
    fields = applied_fields(live, manager) or {}
    ours = f"f:{TERM}" in fields.get("f:metadata", {}).get("f:annotations", {})
    return _annotated(config, term) if ours else config


def without_term(live: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object but for its term."""
    metadata = live["metadata"]
    annotations = metadata.get("annotations") or {}
    if TERM not in annotations:
        return live
    others = {name: value for name, value in annotations.items() if name != TERM}
    return {**live, "metadata": {**metadata, "annotations": others}}


def _annotated(config: Object, term: str) -> Object:
    metadata = config["metadata"]
    annotations = {**(metadata.get("annotations") or {}), TERM: term}
    return {**config, "metadata": {**metadata, "annotations": annotations}}
