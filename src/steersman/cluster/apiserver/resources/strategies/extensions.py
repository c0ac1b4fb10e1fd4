"""Strategies of what extends the API: definitions, API services, webhooks and admission policies."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from steersman.cluster.apiserver.resources.strategies.strategy import (
    Strategy,
    Termination,
    spec_of,
    status_endpoint,
)
from steersman.objects.fields import Path
from steersman.objects.kinds import Object
from steersman.objects.times import format_time

__all__ = ["CLEANUP_FINALIZER", "EXTENSIONS"]

#: Keeps a definition that is deleted until its objects are gone.
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"

_GUARDED_STATUS: Final = {"status": status_endpoint("metadata")}


def _note_stored_version(definition: Object) -> None:
    """The version written to storage is remembered until someone migrated what was stored under it."""
    stored = definition["status"].get("storedVersions") or []
    for version in definition["spec"].get("versions") or ():
        if version.get("storage"):
            if version["name"] not in stored:
                definition["status"] = definition["status"] | {"storedVersions": [*stored, version["name"]]}
            return


def _mark_definition(definition: Object, now: str) -> None:
    from steersman.cluster.schema.structural.naming import set_condition

    finalizers = definition["metadata"].setdefault("finalizers", [])
    if CLEANUP_FINALIZER not in finalizers:
        finalizers.append(CLEANUP_FINALIZER)
    condition = {
        "type": "Terminating",
        "status": "True",
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    definition["status"] = set_condition(definition["status"], condition, now)


def _definition_warnings(definition: Object, old: Object | None = None) -> list[str]:
    # Structural schemas and the expressions in them are code that a start without definitions need not load.
    from steersman.cluster.schema.validation.crd_warnings import definition_warnings

    return definition_warnings(definition, old)


def _available_if_local(api_service: Object) -> None:
    if api_service["spec"].get("service") is None:
        api_service["status"]["conditions"] = [
            {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": format_time(datetime.now(UTC)),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]


def _static_name_warnings(new: Object, old: Object) -> list[str]:
    if not new["metadata"].get("name", "").endswith(".static.k8s.io"):
        return []
    return [
        'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based '
        "configurations and cannot be managed via the API"
    ]


_NEVER_INTERCEPTED: Final = {
    *((resource, "authentication.k8s.io") for resource in ("selfsubjectreviews", "tokenreviews")),
    *(
        (resource, "authorization.k8s.io")
        for resource in (
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "subjectaccessreviews",
        )
    ),
}


def _webhook_warnings(configuration: Object) -> list[str]:
    warnings = []
    for index, webhook in enumerate(configuration.get("webhooks") or ()):
        for position, rule in enumerate(webhook.get("rules") or ()):
            groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
            if "*" in groups or "*" in resources:
                continue
            place = Path("webhooks").index(index).child("rules").index(position)
            named = dict.fromkeys((resource, group) for group in groups for resource in resources)
            warnings += [
                f"{place}: {resource}.{group} is excluded from admission webhooks; "
                "this rule will have no effect"
                for resource, group in named
                if (resource, group) in _NEVER_INTERCEPTED
            ]
    return warnings


EXTENSIONS: Final = (
    Strategy(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        zero_status={"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None},
        generation=spec_of,
        on_create=_note_stored_version,
        on_update=lambda new, old: _note_stored_version(new),
        create_warnings=_definition_warnings,
        update_warnings=_definition_warnings,
        reset_fields=("status",),
        subresources={"status": status_endpoint()},
        allow_unconditional_update=False,
        termination=Termination(
            _mark_definition, propagates=False, word_precondition=lambda why: why[0].lower() + why[1:]
        ),
    ),
    Strategy(
        "apiregistration.k8s.io",
        "apiservices",
        zero_status={},
        on_create=_available_if_local,
        reset_fields=("status",),
        subresources=_GUARDED_STATUS,
        allow_unconditional_update=False,
    ),
    Strategy(
        "storagemigration.k8s.io",
        "storageversionmigrations",
        zero_status={},
        reset_fields=("status",),
        subresources=_GUARDED_STATUS,
        allow_unconditional_update=False,
    ),
    *(
        Strategy(
            "admissionregistration.k8s.io",
            plural,
            generation=lambda configuration: configuration.get("webhooks") or [],
            create_warnings=_webhook_warnings,
            update_warnings=lambda new, old: _static_name_warnings(new, old) + _webhook_warnings(new),
            allow_unconditional_update=False,
        )
        for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    ),
    Strategy(
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        zero_status={},
        generation=spec_of,
        update_warnings=_static_name_warnings,
        reset_fields=("status",),
        subresources=_GUARDED_STATUS,
        allow_unconditional_update=False,
    ),
    *(
        Strategy(
            "admissionregistration.k8s.io",
            plural,
            generation=spec_of,
            update_warnings=_static_name_warnings,
            allow_unconditional_update=False,
        )
        for plural in (
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        )
    ),
)
