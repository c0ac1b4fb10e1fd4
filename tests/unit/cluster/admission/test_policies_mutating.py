"""Mutating policies: patches and apply configurations made by expressions."""

from __future__ import annotations

import pytest

from steersman.cluster.admission import Attributes

from .policy_writes import Cluster, Object, deployment


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def written(attributes: Attributes) -> Object:
    assert attributes.object is not None
    return attributes.object


LABEL = "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/x'), value: 'y'}]"


def test_a_json_patch(cluster: Cluster) -> None:
    cluster.mutate(("JSONPatch", LABEL))
    attributes = deployment()
    obj = written(attributes)
    metadata = obj["metadata"]
    cluster.write(attributes)
    assert attributes.object is obj
    assert obj["metadata"] is metadata
    assert metadata["labels"] == {"app": "x", "example.com/x": "y"}


def test_values_of_a_patch_can_be_computed(cluster: Cluster) -> None:
    cluster.mutate(
        ("JSONPatch", "[JSONPatch{op: 'test', path: '/spec/replicas', value: 5}, "
         "JSONPatch{op: 'replace', path: '/spec/replicas', value: object.spec.replicas + 1}, "
         "JSONPatch{op: 'add', path: '/metadata/annotations', value: {'user': request.userInfo.username}}]"),
    )  # fmt: skip
    obj = written(cluster.write(deployment()))
    assert obj["spec"]["replicas"] == 6
    assert obj["metadata"]["annotations"] == {"user": "admin"}


def test_a_failed_test_means_that_there_is_nothing_to_do(cluster: Cluster) -> None:
    cluster.mutate(
        ("JSONPatch", "[JSONPatch{op: 'test', path: '/spec/replicas', value: 4}, "
         "JSONPatch{op: 'replace', path: '/spec/replicas', value: 1}]"),
    )  # fmt: skip
    assert written(cluster.write(deployment()))["spec"]["replicas"] == 5


def test_an_apply_configuration_is_merged_by_the_schema(cluster: Cluster) -> None:
    cluster.mutate(
        ("ApplyConfiguration",
         "Object{metadata: Object.metadata{labels: {'y': 'z'}}, spec: Object.spec{template: Object.spec.template{"
         "spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'side', "
         "image: 'car'}, Object.spec.template.spec.containers{name: 'c', stdin: true}]}}}}"),
    )  # fmt: skip
    obj = written(cluster.write(deployment()))
    assert obj["metadata"]["labels"] == {"app": "x", "y": "z"}
    containers = {each["name"]: each for each in obj["spec"]["template"]["spec"]["containers"]}
    assert containers["c"]["image"] == "i"
    assert containers["c"]["stdin"] is True
    assert containers["side"]["image"] == "car"
    assert containers["side"]["terminationMessagePath"] == "/dev/termination-log"


FAILURES: dict[str, tuple[str, str, str]] = {
    "a field that is not there": (
        "JSONPatch", "[JSONPatch{op: 'remove', path: '/spec/nothing'}]", "JSON Patch: ",
    ),
    "an operation without a kind": (
        "JSONPatch", "[JSONPatch{path: '/spec'}]", "JSON Patch: Unexpected kind: ",
    ),
    "an operation without a path": (
        "JSONPatch", "[JSONPatch{op: 'add', value: 1}]",
        'JSON Patch: add operation does not apply: doc is missing path: "": missing value',
    ),
    "a type that is not named after its field": (
        "ApplyConfiguration", "Object{spec: Object.wrong{replicas: 1}}",
        'type mismatch: unexpected type name "Object.wrong", expected "Object.spec", which matches field name path '
        "from root Object type",
    ),
    "an undeclared field": (
        "ApplyConfiguration", "Object{spec: Object.spec{bogus: 1}}",
        "error applying patch: failed to convert patch object to typed object: .spec.bogus: field not declared in "
        "schema",
    ),
    "an atomic list": (
        "ApplyConfiguration",
        "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: "
        "[Object.spec.template.spec.containers{name: 'c', args: ['x']}]}}}}",
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
        ".spec.template.spec.containers[0].args",
    ),
    "an error of evaluation": (
        "JSONPatch", "[JSONPatch{op: 'add', path: object.nothing}]",
        "expression '[JSONPatch{op: 'add', path: object.nothing}]' resulted in error: no such key: nothing",
    ),
    "another type": ("JSONPatch", "'x'", "must evaluate to list(JSONPatch) but got string"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "expression", "why"), FAILURES.values(), ids=FAILURES)
def test_a_mutation_that_fails_denies_unless_failures_are_ignored(
    cluster: Cluster, kind: str, expression: str, why: str
) -> None:
    cluster.mutate((kind, expression))
    error = cluster.refused()
    assert error.message.startswith(f"policy 'p' with binding 'p-b' denied request: {why}")
    assert (error.code, error.reason) == (403, "Invalid")
    assert error.details is not None
    assert error.details["causes"] == [{"message": error.message}]
    lenient = Cluster()
    lenient.mutate((kind, expression), failurePolicy="Ignore")
    before = written(deployment())
    assert written(lenient.write(deployment())) == before


def count(name: str) -> tuple[str, str]:
    """Adds one to a label's number."""
    return (
        "JSONPatch",
        f"[JSONPatch{{op: 'add', path: '/metadata/labels/{name}', value: "
        f"string('{name}' in object.metadata.labels ? int(object.metadata.labels['{name}']) + 1 : 1)}}]",
    )


def test_policies_are_applied_in_order_and_see_each_others_changes(cluster: Cluster) -> None:
    cluster.mutate(("JSONPatch", "[JSONPatch{op: 'add', path: '/metadata/labels/b', value: object.metadata.labels.a}]"),
                   name="second")  # fmt: skip
    cluster.mutate(
        ("JSONPatch", "[JSONPatch{op: 'add', path: '/metadata/labels/a', value: '1'}]"), name="first"
    )
    assert written(cluster.write(deployment()))["metadata"]["labels"] == {"app": "x", "a": "1", "b": "1"}


@pytest.mark.parametrize(
    ("policy", "labels"), [("Never", {"a": "1", "b": "1"}), ("IfNeeded", {"a": "2", "b": "1"})]
)
def test_a_policy_is_asked_again_when_a_later_one_changed_the_object(
    cluster: Cluster, policy: str, labels: Object
) -> None:
    cluster.mutate(count("a"), name="a", reinvocationPolicy=policy)
    cluster.mutate(count("b"), name="b", reinvocationPolicy="Never")
    assert written(cluster.write(deployment()))["metadata"]["labels"] == {"app": "x", **labels}


def test_variables_and_conditions_work_as_in_validating_policies(cluster: Cluster) -> None:
    cluster.mutate(
        ("JSONPatch", "[JSONPatch{op: 'replace', path: '/spec/replicas', value: variables.most}]"),
        variables=[{"name": "most", "expression": "3"}],
        matchConditions=[{"name": "c", "expression": "object.spec.replicas > variables.most"}],
    )
    assert written(cluster.write(deployment(9)))["spec"]["replicas"] == 3
    assert written(cluster.write(deployment(2)))["spec"]["replicas"] == 2


def test_deletions_are_none_of_their_business(cluster: Cluster) -> None:
    from steersman.cluster.admission.policies import MutatingAdmissionPolicy

    plugin = MutatingAdmissionPolicy(cluster.context)
    assert not plugin.handles("DELETE", "apps", "deployments", "")
    assert not plugin.handles("CREATE", "admissionregistration.k8s.io", "mutatingadmissionpolicies", "")
    assert plugin.handles("UPDATE", "apps", "deployments", "status")


def test_a_configuration_does_not_change_the_kind(cluster: Cluster) -> None:
    cluster.mutate(("ApplyConfiguration", "Object{kind: 'Secret', apiVersion: 'v2'}"))
    obj = written(cluster.write(deployment()))
    assert (obj["apiVersion"], obj["kind"]) == ("apps/v1", "Deployment")


def test_a_json_patch_adds_no_unknown_fields(cluster: Cluster) -> None:
    cluster.mutate(("JSONPatch", "[JSONPatch{op: 'add', path: '/foo', value: 1}]"))
    error = cluster.refused()
    assert (error.code, error.message) == (
        500,
        'Internal error occurred: strict decoding error: unknown field "foo"',
    )
