"""Custom resource definitions: what is refused, where, and in which words."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.schema.validation import validate_create, validate_status_update, validate_update
from steersman.cluster.schema.validation.crd_warnings import definition_warnings

Object = dict[str, Any]

_KIND = ("apiextensions.k8s.io", "CustomResourceDefinition", False)
_SCHEMA = "spec.validation.openAPIV3Schema"


def definition(schema: Object | None = None, **spec: Any) -> Object:
    served = {"name": "v1", "served": True, "storage": True}
    served["schema"] = {"openAPIV3Schema": schema if schema is not None else {"type": "object"}}
    return {
        "metadata": {"name": "xs.g.io"},
        "spec": {
            "group": "g.io",
            "scope": "Namespaced",
            "names": {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"},
            "versions": [served],
            "conversion": {"strategy": "None"},
            **spec,
        },
        "status": {"storedVersions": ["v1"], "acceptedNames": {"plural": "", "kind": ""}, "conditions": None},
    }


def version(**fields: Any) -> Object:
    made = definition()
    made["spec"]["versions"][0].update(fields)
    return made


def created(obj: Object) -> list[str]:
    return [str(error) for error in validate_create(*_KIND, obj)]


def updated(new: Object, old: Object) -> list[str]:
    for obj in (new, old):
        obj["metadata"]["resourceVersion"] = "1"
    return [str(error) for error in validate_update(*_KIND, new, old)]


def field(schema: Object) -> Object:
    return definition({"type": "object", "properties": {"x": schema}})


def test_a_good_definition_is_accepted() -> None:
    assert created(definition()) == []


_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_NULL_VERSION = (
    '"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,'
    '"AdditionalPrinterColumns":null,"SelectableFields":null'
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"group": ""}, [
            'metadata.name: Invalid value: "xs.g.io": must be spec.names.plural+"."+spec.group',
            "spec.group: Required value",
        ], id="no group"),
        pytest.param({"group": "io"}, [
            'metadata.name: Invalid value: "xs.g.io": must be spec.names.plural+"."+spec.group',
            'spec.group: Invalid value: "io": should be a domain with at least one dot',
        ], id="a group without a dot"),
        pytest.param({"scope": "World"}, [
            'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'
        ], id="scope"),
        pytest.param({"names": {"plural": "xs", "singular": "X", "kind": "X", "listKind": "X", "shortNames": ["1"]}}, [
            f'spec.names.singular: Invalid value: "X": {_LABEL}',
            f'spec.names.shortNames[0]: Invalid value: "1": {_LABEL}',
            'spec.names.listKind: Invalid value: "X": kind and listKind may not be the same',
        ], id="names"),
        pytest.param({"names": {"plural": "xs"}}, [
            "spec.names.singular: Required value",
            "spec.names.kind: Required value",
            "spec.names.listKind: Required value",
        ], id="missing names"),
        pytest.param({"preserveUnknownFields": True}, [
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, "
            "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        ], id="keeping unknown fields"),
        pytest.param({"versions": [{"name": "v1", "served": True}]}, [
            "spec.versions[0].schema.openAPIV3Schema: Required value",
            'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,' + _NULL_VERSION + "}]: "
            "must have exactly one version marked as storage version",
        ], id="no schema, no storage"),
    ],
)  # fmt: skip
def test_definition(spec: Object, expected: list[str]) -> None:
    assert created(definition(**spec)) == expected


def test_a_wrong_name_comes_before_other_metadata() -> None:
    wrong = definition(group="h.io")
    wrong["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "X", "name": "x"}]
    assert created(wrong) == [
        'metadata.name: Invalid value: "xs.g.io": must be spec.names.plural+"."+spec.group',
        "metadata.ownerReferences[0].uid: Required value: must not be empty",
    ]


def test_versions_that_differ_are_checked_where_they_are() -> None:
    obj = definition()
    obj["spec"]["versions"].append(
        {"name": "v2", "served": True, "schema": {"openAPIV3Schema": {"type": "string"}}}
    )
    assert created(obj) == [
        'spec.versions[1].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root'
    ]


def test_versions_must_have_names_of_their_own() -> None:
    obj = definition()
    obj["spec"]["versions"].append(deepcopy(obj["spec"]["versions"][0]) | {"storage": False})
    (error,) = created(obj)
    assert error.endswith(": must contain unique version names")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"deprecationWarning": "old"}, [
            'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions'
        ], id="a warning without deprecation"),
        pytest.param({"deprecated": True, "deprecationWarning": "a\tb"}, [
            'spec.versions[0].deprecationWarning: Invalid value: "a\\tb": must only contain printable UTF-8 characters; '
            "non-printable character found at index 1"
        ], id="an unprintable warning"),
        pytest.param({"subresources": {"scale": {"specReplicasPath": "x", "statusReplicasPath": ".spec.n"}}}, [
            'spec.subresources.scale.specReplicasPath: Invalid value: "x": must be a simple json path starting with .',
            'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
        ], id="scale"),
        pytest.param({"subresources": {"scale": {"labelSelectorPath": ".x"}}}, [
            "spec.subresources.scale.specReplicasPath: Required value",
            "spec.subresources.scale.statusReplicasPath: Required value",
            'spec.subresources.scale.labelSelectorPath: Invalid value: ".x": '
            "should be a json path under either .spec or .status",
        ], id="scale without paths"),
        pytest.param({"additionalPrinterColumns": [{"name": "", "type": "int", "jsonPath": "x", "format": "y"}]}, [
            "spec.additionalPrinterColumns[0].name: Required value",
            'spec.additionalPrinterColumns[0].type: Invalid value: "int": '
            "must be one of boolean,date,integer,number,string",
            'spec.additionalPrinterColumns[0].format: Invalid value: "y": '
            "must be one of byte,date,date-time,double,float,int32,int64,password",
            'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "x": must be a simple json path starting with .',
        ], id="columns"),
        pytest.param({"selectableFields": [{"jsonPath": ".spec.a"}]}, [
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec.a": is an invalid path: '
            "does not refer to a valid field"
        ], id="selectable fields"),
    ],
)  # fmt: skip
def test_version(fields: Object, expected: list[str]) -> None:
    assert created(version(**fields)) == expected


def test_selectable_fields() -> None:
    schema = {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(9)} | {"o": {"type": "object"}}},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
    }}  # fmt: skip
    obj = definition(schema)
    paths = [".metadata.name", ".spec.o", ".spec.f1", ".spec.f1", "", ".spec['f2']"]
    obj["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": path} for path in paths]
    assert created(obj) == [
        'spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata',
        'spec.selectableFields[1].jsonPath: Invalid value: ".spec.o": must point to a field of type string, boolean or '
        "integer. Enum string fields and strings with formats are allowed.",
        'spec.selectableFields[3].jsonPath: Duplicate value: ".spec.f1"',
        "spec.selectableFields[4].jsonPath: Required value",
        "spec.selectableFields[5].jsonPath: Invalid value: \".spec['f2']\": is an invalid path: "
        "array notation is not allowed",
    ]
    obj["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": f".spec.f{n}"} for n in range(9)]
    assert created(obj) == ["spec.selectableFields: Too many: 9: must have at most 8 items"]


@pytest.mark.parametrize(
    ("conversion", "expected"),
    [
        pytest.param({"strategy": "Magic"}, [
            'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'
        ], id="strategy"),
        pytest.param({"strategy": "Webhook"}, [
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            "spec.conversion.conversionReviewVersions: Required value",
        ], id="no webhook"),
        pytest.param({"strategy": "Webhook", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v9", "v9"]}}, [
            "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
            'spec.conversion.conversionReviewVersions[1]: Invalid value: "v9": duplicate version',
            'spec.conversion.conversionReviewVersions: Invalid value: ["v9","v9"]: must include at least one of v1, v1beta1',
        ], id="nowhere to call"),
        pytest.param({"strategy": "None", "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]}}, [
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
            "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
        ], id="a webhook for nothing"),
        pytest.param({"strategy": "Webhook", "webhook": {
            "clientConfig": {"url": "https://a/b", "caBundle": "AAAA"}, "conversionReviewVersions": ["v1"]
        }}, [], id="a bundle may come later"),
    ],
)  # fmt: skip
def test_conversion(conversion: Object, expected: list[str]) -> None:
    assert created(definition(conversion=conversion)) == expected


# --- Updates


def established(schema: Object | None = None, **spec: Any) -> Object:
    obj = definition(schema, **spec)
    obj["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    return obj


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"scope": "Cluster"}, ['spec.scope: Invalid value: "Cluster": field is immutable']),
        ({"names": {"plural": "xs", "singular": "x", "kind": "Y", "listKind": "YList"}}, [
            'spec.names.kind: Invalid value: "Y": field is immutable'
        ]),
        ({"group": "h.io"}, ['spec.group: Invalid value: "h.io": field is immutable']),
        ({"names": {"plural": "ys", "singular": "x", "kind": "X", "listKind": "XList"}}, [
            'spec.names.plural: Invalid value: "ys": field is immutable'
        ]),
        ({"names": {"plural": "xs", "singular": "y", "kind": "X", "listKind": "XList"}}, []),
    ],
    ids=["scope", "kind", "group", "plural", "singular"],
)  # fmt: skip
def test_what_names_resources_cannot_change(spec: Object, expected: list[str]) -> None:
    assert updated(established(**spec), established()) == expected


def test_scope_may_change_until_resources_are_served() -> None:
    assert updated(definition(scope="Cluster"), definition()) == []


def test_a_stored_version_must_stay() -> None:
    old, new = definition(), definition()
    new["spec"]["versions"][0]["name"] = "v2"
    new["status"]["storedVersions"] = ["v1", "v2"]
    assert updated(new, old) == [
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, '
        "and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes "
        "v1 from status.storedVersions"
    ]


def test_the_storage_version_must_be_noted() -> None:
    obj = definition()
    obj["status"]["storedVersions"] = []
    assert created(obj) == [
        "status.storedVersions: Invalid value: null: must have at least one stored version"
    ]
    obj["status"]["storedVersions"] = ["v0"]
    assert created(obj)[0] == 'status.storedVersions: Invalid value: ["v0"]: must have the storage version v1'


def test_a_bundle_must_hold_certificates_once_established() -> None:
    webhook = {"clientConfig": {"url": "https://a/b", "caBundle": "AAAA"}, "conversionReviewVersions": ["v1"]}
    bad = {"strategy": "Webhook", "webhook": webhook}
    assert updated(established(conversion=bad), established()) == [
        'spec.conversion.webhookClientConfig.caBundle: Invalid value: "AAAA": '
        "unable to load root certificates: unable to parse bytes as PEM block"
    ]
    assert updated(established(conversion=bad), established(conversion=bad)) == []


def test_what_was_accepted_before_is_not_refused() -> None:
    schema = {"type": "object", "properties": {"l": {
        "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"},
    }}}  # fmt: skip
    assert created(definition(schema)) == [
        f"{_SCHEMA}.properties[l].items.x-kubernetes-map-type: Invalid value: null: "
        "must be atomic as item of a list with x-kubernetes-list-type=set"
    ]
    assert updated(definition(schema), definition(schema)) == []


_FAULTS: dict[str, tuple[Object, str]] = {
    "a set of what is not atomic": (
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
        "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
        "x-kubernetes-list-type=set",
    ),
    "a key that may be missing": (
        {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
         "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
        "items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must "
        "have a default or be a required property",
    ),
    "a default that would be pruned": (
        {"type": "object", "default": {"y": 1}, "properties": {"z": {"type": "string"}}},
        'default: Invalid value: {"y":1}: must not have unknown fields',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "why"), _FAULTS.values(), ids=_FAULTS)
def test_an_old_fault_stays_allowed_and_a_new_one_is_not(schema: Object, why: str) -> None:
    def inside(given: Object) -> Object:
        return field({"type": "object", "properties": {"y": given}})

    refused = [f"{_SCHEMA}.properties[x].properties[y].{why}"]
    assert created(inside(schema)) == refused
    assert updated(inside(schema), definition()) == refused
    assert updated(inside({**schema, "description": "changed"}), inside(schema)) == []


def test_too_many_selectable_fields_stay_allowed_only_as_they_were() -> None:
    schema = {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(11)}}
    }}  # fmt: skip

    def selecting(numbers: range) -> Object:
        obj = definition(schema)
        obj["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": f".spec.f{n}"} for n in numbers]
        return obj

    many, few = selecting(range(9)), selecting(range(8))
    assert updated(selecting(range(9)), many) == []
    assert updated(selecting(range(1, 10)), many) != []
    assert updated(selecting(range(9)), few) != []


# --- Definitions from before schemas had to be structural


def lax(schema: Object | None, **spec: Any) -> Object:
    made = definition(schema, preserveUnknownFields=True, **spec)
    if schema is None:
        del made["spec"]["versions"][0]["schema"]
    return made


_LOOSE: Object = {"type": "object", "properties": {"x": {"properties": {"y": {"type": "string"}}}}}
_STRUCTURAL: Object = {"type": "object", "properties": {"x": {"type": "object"}}}
_NO_TYPE = f"{_SCHEMA}.properties[x].type: Required value: must not be empty for specified object fields"


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(lax({**_LOOSE, "description": "d"}), lax(_LOOSE), [], id="stays loose"),
        pytest.param(lax(_LOOSE), lax(_STRUCTURAL), [_NO_TYPE], id="was structural"),
        pytest.param(definition(_LOOSE), lax(_LOOSE), [_NO_TYPE], id="prunes from now on"),
        pytest.param(
            lax({**_LOOSE, "x-kubernetes-embedded-resource": True}), lax(_LOOSE), [_NO_TYPE], id="extension"
        ),
        pytest.param(
            lax({**_STRUCTURAL, "properties": {"x": {"type": "object", "default": {}}}}),
            lax(_STRUCTURAL),
            [
                "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the "
                "schema"
            ],
            id="default",
        ),
        pytest.param(lax(None, scope="Cluster"), lax(None), [], id="no schema"),
        pytest.param(
            definition(versions=lax(None)["spec"]["versions"]),
            lax(None),
            [
                "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"
            ],
            id="no schema prunes all",
        ),
        pytest.param(
            lax(None), lax(_LOOSE), ["spec.versions[0].schema.openAPIV3Schema: Required value"], id="had one"
        ),
        pytest.param(lax(_STRUCTURAL, conversion=None), lax(_STRUCTURAL), [], id="no conversion"),
    ],
)
def test_lax_definitions(new: Object, old: Object, expected: list[str]) -> None:
    assert updated(deepcopy(new), deepcopy(old)) == expected


def test_lax_definitions_are_not_converted() -> None:
    webhook = {"clientConfig": {"url": "https://a/b"}, "conversionReviewVersions": ["v1"]}
    converted = lax(_STRUCTURAL, conversion={"strategy": "Webhook", "webhook": webhook})
    assert updated(converted, lax(_STRUCTURAL)) == [
        'spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true'
    ]


def test_review_versions_that_were_unknown_may_stay() -> None:
    def reviewing(*versions: str) -> Object:
        webhook = {"clientConfig": {"url": "https://a/b"}, "conversionReviewVersions": [*versions]}
        return definition(conversion={"strategy": "Webhook", "webhook": webhook})

    refused = [
        'spec.conversion.conversionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1'
    ]
    assert created(reviewing("v2")) == refused
    assert updated(reviewing("v2"), reviewing("v1")) == refused
    assert updated(reviewing("v2"), definition()) == refused
    assert updated(reviewing("v2"), reviewing("v2")) == []


def test_a_status_update_checks_names() -> None:
    old, new = definition(), definition()
    new["status"]["acceptedNames"]["plural"] = "X"
    for obj in (old, new):
        obj["metadata"]["resourceVersion"] = "1"
    errors = [str(error) for error in validate_status_update(*_KIND, new, old)]
    assert errors == [f'status.acceptedNames.plural: Invalid value: "X": {_LABEL}']


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (None, "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval "
         'annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111'),
        ("x", 'metadata.annotations[api-approved.kubernetes.io]: Invalid value: "x": protected groups must have approval '
         'annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", '
         "see https://github.com/kubernetes/enhancements/pull/1111"),
        ("unapproved", None),
    ],
)  # fmt: skip
def test_groups_of_the_community_need_approval(annotation: str | None, expected: str | None) -> None:
    obj = definition(group="x.k8s.io")
    obj["metadata"]["name"] = "xs.x.k8s.io"
    if annotation:
        obj["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
    assert created(obj) == ([expected] if expected else [])


def test_an_approval_that_was_missing_may_stay_missing() -> None:
    def protected(annotation: str = "") -> Object:
        obj = definition(group="x.k8s.io")
        obj["metadata"]["name"] = "xs.x.k8s.io"
        if annotation:
            obj["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
        return obj

    assert updated(protected(), protected()) == []
    (error,) = updated(protected(), protected("https://example.com/approval"))
    assert error.startswith("metadata.annotations[api-approved.kubernetes.io]: Required value")


def test_warnings_are_of_what_is_new() -> None:
    old = field({"type": "string", "format": "made-up"})
    new = field({"type": "array", "x-kubernetes-list-type": "set", "items": {
        "type": "object", "x-kubernetes-map-type": "atomic", "properties": {"f": {"type": "string", "format": "made-up"}}
    }})  # fmt: skip
    assert definition_warnings(old) == ['unrecognized format "made-up"']
    assert definition_warnings(field({"type": "array", "items": {"type": "object"}})) == []
    assert definition_warnings(new, old) == [
        'x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL validation rules'
    ]
