"""resource.k8s.io: claims, templates, classes, slices and taint rules."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "resource.k8s.io"
META = {"name": "a", "resourceVersion": "1"}
NAMESPACED = {**META, "namespace": "n"}
EXACTLY = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
REQUEST = {"name": "r", "exactly": EXACTLY}
CLAIM = {"metadata": NAMESPACED, "spec": {"devices": {"requests": [REQUEST]}}, "status": {}}
TEMPLATE = {"metadata": NAMESPACED, "spec": {"spec": {"devices": {"requests": [REQUEST]}}}}
CLASS = {"metadata": META, "spec": {"selectors": [{"cel": {"expression": "true"}}]}}
DEVICE: dict[str, Any] = {
    "name": "d",
    "attributes": {"model": {"string": "x"}},
    "capacity": {"memory": {"value": "1Gi"}},
}
SLICE = {
    "metadata": META,
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "p", "resourceSliceCount": 1},
        "nodeName": "n",
        "devices": [DEVICE],
    },
}
TAINT_RULE = {"metadata": META, "spec": {"taint": {"key": "k", "effect": "NoSchedule"}}, "status": {}}
BASES = {
    "ResourceClaim": CLAIM,
    "ResourceClaimTemplate": TEMPLATE,
    "DeviceClass": CLASS,
    "ResourceSlice": SLICE,
    "DeviceTaintRule": TAINT_RULE,
}
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
UNKNOWN = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
ONE_NODE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


@pytest.mark.parametrize("kind", BASES)
def test_a_valid_object_is_created_and_updated(created: Any, updated: Any, kind: str) -> None:
    assert created(GROUP, kind, BASES[kind], {}) == []
    assert updated(GROUP, kind, BASES[kind], {"metadata": {"labels": {"a": "b"}}}) == []


def requests(*items: Any, **devices: Any) -> dict[str, Any]:
    return {"spec": {"devices": {"requests": list(items), **devices}}}


def exactly(**fields: Any) -> dict[str, Any]:
    return requests({"name": "r", "exactly": {**EXACTLY, **fields}})


def device(**fields: Any) -> dict[str, Any]:
    return {"spec": {"devices": [{**DEVICE, **fields}]}}


CHOSEN = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}


def per_device(**fields: Any) -> dict[str, Any]:
    return {"spec": {"nodeName": None, "perDeviceNodeSelection": True, "devices": [{**DEVICE, **fields}]}}


AT = "spec.devices.requests[0]"
CREATED: dict[str, tuple[str, Any, list[str]]] = {
    "request of nothing": (
        "ResourceClaim",
        requests({"name": "R"}),
        [
            f'{AT}.name: Invalid value: "R": {LABEL}',
            f"{AT}: Required value: exactly one of `exactly` or `firstAvailable` is required",
        ],
    ),
    "no class": (
        "ResourceClaim",
        exactly(deviceClassName=""),
        [f"{AT}.exactly.deviceClassName: Required value"],
    ),
    "count of all": (
        "ResourceClaim",
        exactly(allocationMode="All"),
        [f"{AT}.exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'"],
    ),
    "count of none": (
        "ResourceClaim",
        exactly(count=0),
        [f"{AT}.exactly.count: Invalid value: 0: must be greater than zero"],
    ),
    "mode": (
        "ResourceClaim",
        exactly(allocationMode="Some"),
        [f'{AT}.exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"'],
    ),
    "selector": (
        "ResourceClaim",
        exactly(selectors=[{}]),
        [f"{AT}.exactly.selectors[0].cel: Required value"],
    ),
    "toleration": (
        "ResourceClaim",
        exactly(tolerations=[{"operator": "Exists", "value": "v", "effect": "Maybe"}, {}]),
        [
            f'{AT}.exactly.tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`',
            f'{AT}.exactly.tolerations[0].effect: Unsupported value: "Maybe": '
            'supported values: "NoExecute", "NoSchedule", "None"',
            f"{AT}.exactly.tolerations[1].operator: Required value",
        ],
    ),
    "alternatives": (
        "ResourceClaim",
        requests({"name": "r", "firstAvailable": [{"name": "a", "allocationMode": "All"}]}),
        [f"{AT}.firstAvailable[0].deviceClassName: Required value"],
    ),
    "requests twice": (
        "ResourceClaim",
        requests(REQUEST, REQUEST),
        [
            'spec.devices.requests[1]: Duplicate value: {"name":"r","exactly":{"deviceClassName":"gpu",'
            '"allocationMode":"ExactCount","count":1}}'
        ],
    ),
    "too many": (
        "ResourceClaim",
        requests(*[REQUEST] * 33),
        ["spec.devices.requests: Too many: 33: must have at most 32 items"],
    ),
    "constraint": (
        "ResourceClaim",
        requests(REQUEST, constraints=[{"requests": ["other"], "matchAttribute": "model"}]),
        [
            f'spec.devices.constraints[0].requests[0]: Invalid value: "other": {UNKNOWN}',
            'spec.devices.constraints[0].matchAttribute: Invalid value: "model": '
            "a fully qualified name must be a domain and a name separated by a slash",
        ],
    ),
    "configuration": (
        "ResourceClaim",
        requests(REQUEST, config=[{}, {"opaque": {"parameters": [1]}}]),
        [
            "spec.devices.config[0].opaque: Required value",
            'spec.devices.config[1].opaque.parameters: Invalid value: "<value omitted>": must be a '
            "valid JSON object",
            "spec.devices.config[1].opaque.driver: Required value",
        ],
    ),
    "template": (
        "ResourceClaimTemplate",
        {"spec": {"spec": {"devices": {"requests": [{"name": "r"}]}}}},
        [
            "spec.spec.devices.requests[0]: Required value: "
            "exactly one of `exactly` or `firstAvailable` is required"
        ],
    ),
    "class": (
        "DeviceClass",
        {"spec": {"config": [{}], "extendedResourceName": "gpu"}},
        [
            "spec.config[0].opaque: Required value",
            'spec.extendedResourceName: Invalid value: "gpu": '
            "a name must be a domain-prefixed path, such as 'example.com/my-prop'",
        ],
    ),
    "slice for nobody": (
        "ResourceSlice",
        {"spec": {"nodeName": None, "driver": None, "pool": {"resourceSliceCount": 0, "generation": -1}}},
        [
            "spec.driver: Required value",
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
            "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
            f"spec: Required value: {ONE_NODE}",
        ],
    ),
    "slice for two": (
        "ResourceSlice",
        {"spec": {"allNodes": True}},
        [f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {ONE_NODE}, but multiple fields are set'],
    ),
    "devices twice": (
        "ResourceSlice",
        {"spec": {"devices": [DEVICE, DEVICE]}},
        ['spec.devices[1]: Duplicate value: "d"'],
    ),
    "attributes": (
        "ResourceSlice",
        device(attributes={"a": {"version": "1"}, "b": {}, "c": {"int": 1, "bool": True}}),
        [
            'spec.devices[0].attributes[a].version: Invalid value: "1": '
            "must be a string compatible with semver.org spec 2.0.0",
            'spec.devices[0].attributes[b]: Invalid value: "": must specify one of: '
            "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`",
            'spec.devices[0].attributes[c]: Invalid value: "{int, bool}": must specify exactly one of: '
            "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`",
        ],
    ),
    "policy of one use": (
        "ResourceSlice",
        device(capacity={"memory": {"value": "1", "requestPolicy": {}}}),
        ["spec.devices[0].capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
    ),
    "taint": (
        "ResourceSlice",
        device(taints=[{"key": "k"}]),
        ["spec.devices[0].taints[0].effect: Required value"],
    ),
    "node of a device": (
        "ResourceSlice",
        device(nodeName="n"),
        [
            "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can "
            "only be set if "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
        ],
    ),
    "binding conditions": (
        "ResourceSlice",
        device(bindingConditions=["a"]),
        [
            "spec.devices[0].bindingFailureConditions: Invalid value: null: "
            "bindingFailureConditions are required to use bindingConditions"
        ],
    ),
    "counters": (
        "ResourceSlice",
        {"spec": {"devices": None, "sharedCounters": [{"name": "c"}]}},
        ["spec.sharedCounters[0].counters: Required value"],
    ),
    "good tolerations": (
        "ResourceClaim",
        exactly(tolerations=[{"operator": "Equal", "value": "v"}, {"operator": "Exists"}]),
        [],
    ),
    "value of a toleration": (
        "ResourceClaim",
        exactly(tolerations=[{"operator": "Equal", "value": "a b"}]),
        [
            f'{AT}.exactly.tolerations[0].value: Invalid value: "a b": a valid label must be an empty string '
            "or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation "
            "is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ],
    ),
    "selector of a class": (
        "DeviceClass",
        {"spec": {"selectors": [{}]}},
        [
            "spec.selectors[0].cel: Required value",
        ],
    ),
    "class without selectors": ("DeviceClass", {"spec": {"selectors": None}}, []),
    "many selectors": (
        "DeviceClass",
        {"spec": {"selectors": [{"cel": {"expression": "true"}}] * 33}},
        [
            "spec.selectors: Too many: 33: must have at most 32 items",
        ],
    ),
    "attribute of a driver": (
        "ResourceSlice",
        device(attributes={"Gpu.example.com/model": {"string": "x"}}),
        [],
    ),
    "attribute without domain": (
        "ResourceSlice",
        device(attributes={"/model": {"string": "x"}}),
        [
            'spec.devices[0].attributes: Invalid value: "": the domain must not be empty',
        ],
    ),
    "attribute without name": (
        "ResourceSlice",
        device(attributes={"example.com/": {"string": "x"}}),
        [
            'spec.devices[0].attributes: Invalid value: "": the name must not be empty',
        ],
    ),
    "attribute of a wrong domain": (
        "ResourceSlice",
        device(attributes={"d_/model": {"string": "x"}}),
        [
            'spec.devices[0].attributes: Invalid value: "d_": a lowercase RFC 1123 subdomain '
            "must consist of lower case alphanumeric characters, '-' or '.', and must start and "
            "end with an alphanumeric character (e.g. 'example.com', regex used for validation "
            "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    ),
    "attribute of a wrong name": (
        "ResourceSlice",
        device(attributes={"1x": {"string": "x"}}),
        [
            'spec.devices[0].attributes: Invalid value: "1x": a valid C identifier must start '
            "with alphabetic character or '_', followed by a string of alphanumeric characters "
            "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
            "'[A-Za-z_][A-Za-z0-9_]*')",
        ],
    ),
    "both binding conditions": (
        "ResourceSlice",
        device(bindingConditions=["a"], bindingFailureConditions=["b"]),
        [],
    ),
    "failure conditions alone": (
        "ResourceSlice",
        device(bindingFailureConditions=["b"]),
        [
            "spec.devices[0].bindingConditions: Invalid value: null: bindingConditions are "
            "required to use bindingFailureConditions",
        ],
    ),
    "binding conditions overlap": (
        "ResourceSlice",
        device(bindingConditions=["a", "a"], bindingFailureConditions=["b", "a"]),
        [
            'spec.devices[0].bindingConditions[1]: Duplicate value: "a"',
            'spec.devices[0].bindingFailureConditions[1]: Invalid value: "a": '
            "bindingFailureConditions must not overlap with bindingConditions",
        ],
    ),
    "slice for chosen nodes": ("ResourceSlice", {"spec": {"nodeName": None, "nodeSelector": CHOSEN}}, []),
    "slice for nodes chosen twice": (
        "ResourceSlice",
        {"spec": {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": CHOSEN["nodeSelectorTerms"] * 2}}},
        [
            "spec.nodeSelector.nodeSelectorTerms: Invalid value: "
            '[{"matchExpressions":[{"key":"a","operator":"Exists"}]},{"matchExpressions":[{"key":"a","operator":"Exists"}]}]: '
            "must have exactly one node selector term",
        ],
    ),
    "slice for an empty node": (
        "ResourceSlice",
        {"spec": {"nodeName": "", "allNodes": True}},
        [
            'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
        ],
    ),
    "slice not for all": (
        "ResourceSlice",
        {"spec": {"allNodes": False}},
        [
            "spec.allNodes: Invalid value: false: must be either unset or set to true",
        ],
    ),
    "device of a node": ("ResourceSlice", per_device(nodeName="n"), []),
    "device of chosen nodes": ("ResourceSlice", per_device(nodeSelector=CHOSEN), []),
    "device of all nodes": ("ResourceSlice", per_device(allNodes=True), []),
    "device of an empty node": (
        "ResourceSlice",
        per_device(nodeName=""),
        [
            'spec.devices[0].nodeName: Invalid value: "": must not be empty',
            "spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or "
            "`allNodes` is required when `perDeviceNodeSelection` is set to true in the "
            "ResourceSlice spec",
        ],
    ),
    "device of a wrong node": (
        "ResourceSlice",
        per_device(nodeName="N_"),
        [
            'spec.devices[0].nodeName: Invalid value: "N_": a lowercase RFC 1123 subdomain must '
            "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
            "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    ),
    "device of no nodes": (
        "ResourceSlice",
        per_device(allNodes=False),
        [
            "spec.devices[0].allNodes: Invalid value: false: must be either unset or set to true",
            "spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or "
            "`allNodes` is required when `perDeviceNodeSelection` is set to true in the "
            "ResourceSlice spec",
        ],
    ),
    "device of two kinds of nodes": (
        "ResourceSlice",
        per_device(nodeName="n", allNodes=True),
        [
            'spec.devices[0]: Invalid value: "{`nodeName`, `allNodes`}": exactly one of '
            "`nodeName`, `nodeSelector`, or `allNodes` is required when "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec",
        ],
    ),
    "many devices": (
        "ResourceSlice",
        {"spec": {"devices": [{**DEVICE, "name": f"d{n}"} for n in range(65)]}},
        [],
    ),
    "many elaborate devices": (
        "ResourceSlice",
        {
            "spec": {
                "devices": [
                    {**DEVICE, "name": f"d{n}", "attributes": {"a": {"ints": [1]}}} for n in range(65)
                ]
            }
        },
        [
            "spec.devices: Too many: 65: must have at most 64 items",
        ],
    ),
    "taint rule": (
        "DeviceTaintRule",
        {"spec": {"deviceSelector": {"pool": ""}, "taint": {"effect": "Odd"}}},
        [
            "spec.deviceSelector.pool: Required value",
            'spec.taint.effect: Unsupported value: "Odd": supported values: "NoExecute", '
            '"NoSchedule", "None"',
        ],
    ),
}


@pytest.mark.parametrize(("kind", "patch", "expected"), CREATED.values(), ids=CREATED)
def test_a_wrong_object_is_refused(created: Any, kind: str, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, kind, BASES[kind], patch) == expected


def test_a_claim_keeps_its_spec(updated: Any) -> None:
    assert updated(GROUP, "ResourceClaim", CLAIM, exactly(count=2)) == [
        "spec: Invalid value: null: field is immutable"
    ]


def test_a_slice_stays_with_its_pool(updated: Any) -> None:
    assert updated(GROUP, "ResourceSlice", SLICE, {"spec": {"pool": {"name": "q"}}}) == [
        'spec.pool.name: Invalid value: "q": field is immutable'
    ]


RESULT = {"request": "r", "driver": "gpu.example.com", "pool": "p", "device": "d"}
ALLOCATION = {"devices": {"results": [RESULT]}}
CONSUMER = {"resource": "pods", "name": "p", "uid": "1"}


def test_a_claim_is_reserved_once_it_is_allocated(reported: Any) -> None:
    assert (
        reported(
            GROUP, "ResourceClaim", CLAIM, {"status": {"allocation": ALLOCATION, "reservedFor": [CONSUMER]}}
        )
        == []
    )
    assert reported(GROUP, "ResourceClaim", CLAIM, {"status": {"reservedFor": [{"name": "p"}]}}) == [
        "status.reservedFor[0].resource: Required value",
        "status.reservedFor[0].uid: Required value",
        "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
    ]


def test_an_allocation_answers_requests_and_stays(reported: Any) -> None:
    wrong = {"devices": {"results": [{**RESULT, "request": "x", "pool": ""}]}}
    assert reported(GROUP, "ResourceClaim", CLAIM, {"status": {"allocation": wrong}}) == [
        f'status.allocation.devices.results[0].request: Invalid value: "x": {UNKNOWN}',
        "status.allocation.devices.results[0].pool: Required value",
    ]
    allocated = {**CLAIM, "status": {"allocation": ALLOCATION}}
    assert reported(GROUP, "ResourceClaim", allocated, {"status": {"allocation": wrong}}) == [
        "status.allocation: Invalid value: null: field cannot be modified once set"
    ]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("DeviceClass", {"spec": {"selectors": [{"cel": {"expression": "true"}}] * 33}}),
        ("DeviceClass", {"spec": {"config": [{"opaque": {"parameters": {}}}]}}),
        ("ResourceSlice", device(taints=[{"key": "k"}])),
        ("ResourceSlice", {"spec": {"devices": None, "sharedCounters": [{"name": "c"}]}}),
        ("DeviceTaintRule", {"spec": {"taint": {"key": "k", "effect": "Odd"}}}),
    ],
    ids=["selectors", "configuration", "taint", "counters", "rule"],
)
def test_what_was_stored_wrong_may_stay(created: Any, updated: Any, kind: str, wrong: Any) -> None:
    errors = created(GROUP, kind, BASES[kind], wrong)
    assert len(errors) == 1
    assert updated(GROUP, kind, BASES[kind], wrong) == errors
    stored = {**BASES[kind], "spec": {**BASES[kind]["spec"], **wrong["spec"]}}
    stored["spec"] = {key: value for key, value in stored["spec"].items() if value is not None}
    assert updated(GROUP, kind, stored, {"metadata": {"labels": {"a": "b"}}}) == []


def test_a_template_keeps_its_spec(updated: Any) -> None:
    (missing, error) = updated(
        GROUP,
        "ResourceClaimTemplate",
        TEMPLATE,
        {"spec": {"spec": {"devices": {"requests": [{"name": "r"}]}}}},
    )
    assert missing.startswith("spec.spec.devices.requests[0]: Required value")
    assert error.endswith(": field is immutable")


def test_consumers_are_told_apart(reported: Any) -> None:
    twice = {"status": {"allocation": ALLOCATION, "reservedFor": [CONSUMER, CONSUMER]}}
    assert reported(GROUP, "ResourceClaim", CLAIM, twice) == [
        'status.reservedFor[1]: Duplicate value: {"resource":"pods","name":"p","uid":"1"}'
    ]
    assert reported(GROUP, "ResourceClaim", {**CLAIM, **twice}, {"status": {"devices": []}}) == []


def test_the_status_of_a_taint_rule_has_few_conditions(reported: Any) -> None:
    def conditions(count: int) -> dict[str, Any]:
        one = {"status": "True", "reason": "R", "lastTransitionTime": "2024-01-01T00:00:00Z"}
        return {"status": {"conditions": [{**one, "type": f"T{number}"} for number in range(count)]}}

    assert reported(GROUP, "DeviceTaintRule", TAINT_RULE, conditions(8)) == []
    assert reported(GROUP, "DeviceTaintRule", TAINT_RULE, conditions(9)) == [
        "status.conditions: Too many: 9: must have at most 8 items"
    ]
    assert reported(GROUP, "DeviceTaintRule", TAINT_RULE, {"status": {"conditions": [{"type": "T"}]}}) != []


def test_a_template_that_was_stored_wrong_may_stay(created: Any, updated: Any) -> None:
    config = [{"opaque": {"parameters": {}}}]
    wrong = {**TEMPLATE, "spec": {"spec": {"devices": {"requests": [REQUEST], "config": config}}}}
    assert created(GROUP, "ResourceClaimTemplate", wrong, {}) == [
        "spec.spec.devices.config[0].opaque.driver: Required value"
    ]
    assert updated(GROUP, "ResourceClaimTemplate", wrong, {"metadata": {"labels": {"a": "b"}}}) == []


SELECTORS: dict[str, list[str]] = {
    "device.driver == 'x'": [],
    "device.attributes['a.com'].b": [],
    "device.capacity['a.com'].mem.compareTo(quantity('1Gi')) >= 0": [],
    "device.allowMultipleAllocations": [],
    "cel.bind(d, device.attributes['x'], d.a && d.b)": [],
    "device.nope": ["compilation failed: ERROR: <input>:1:7: undefined field 'nope'"],
    "foo": ["compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')"],
    "device.capacity['a.com'].mem": ["must evaluate to bool or the unknown type, not kubernetes.Quantity"],
    "device": ["must evaluate to bool or the unknown type, not kubernetes.DRADevice"],
    "[1]": ["must evaluate to bool or the unknown type, not list(int)"],
    "null": ["must evaluate to bool or the unknown type, not null_type"],
}


@pytest.mark.parametrize(("expression", "wrong"), SELECTORS.items(), ids=SELECTORS)
def test_selectors_of_devices_are_compiled(created: Any, expression: str, wrong: list[str]) -> None:
    patch = {"spec": {"selectors": [{"cel": {"expression": expression}}]}}
    place = "spec.selectors[0].cel.expression"
    expected = [f'{place}: Invalid value: "{expression}": {text}' for text in wrong]
    found = created("resource.k8s.io", "DeviceClass", CLASS, patch)
    assert [text.partition("\n")[0] for text in found] == expected


def test_a_drivers_name_is_counted_in_characters(created: Any) -> None:
    opaque = {"driver": "a" * 64, "parameters": {}}
    assert created("resource.k8s.io", "DeviceClass", CLASS, {"spec": {"config": [{"opaque": opaque}]}}) == [
        "spec.config[0].opaque.driver: Too long: may not be more than 63 characters"
    ]
