"""Server-side apply agrees with its simple twin, whatever is applied and updated by whom."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.objects.fieldsets import paths, show_path
from steersman.objects.managed import track_update
from steersman.objects.patches.apply import Applier, ApplyConflict, apply, would_change
from steersman.objects.schemas import ANY, Schema
from tests.unit.objects.patches.apply_twin import Twin, nodes_of

Object = dict[str, Any]

TEXT = Schema("scalar", scalar="string")
NAMES = st.sampled_from("abc")
VALUES = st.sampled_from("01")


def keyed(item: Schema) -> Schema:
    """A list of such structs, by name."""
    named_item = Schema("struct", properties={**item.properties, "name": TEXT})
    return Schema("list", values=named_item, list_type="map", keys=("name",))


def structs(children: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    fields = st.dictionaries(NAMES, children, min_size=1, max_size=3)
    return fields.map(lambda properties: Schema("struct", properties=dict(properties)))


LEAVES = st.sampled_from(
    [
        TEXT,
        Schema("map", values=TEXT),
        Schema("list", values=TEXT),
        Schema("list", values=TEXT, list_type="set"),
        Schema("struct", properties={"a": TEXT, "b": TEXT}, atomic=True),
    ]
)
SCHEMAS = structs(
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            structs(inner),
            structs(inner).map(keyed),
            structs(inner).map(lambda struct: Schema("map", values=struct)),
        ),
        max_leaves=6,
    )
)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values of a type without empty containers."""
    if schema.kind == "scalar":
        return VALUES
    if schema.kind == "list":
        if schema.list_type != "map":
            return st.lists(VALUES, min_size=1, max_size=3, unique=True)
        return st.lists(values(schema.element()), min_size=1, max_size=3, unique_by=lambda item: item["name"])
    if schema.kind == "map":
        return st.dictionaries(NAMES, values(schema.element()), min_size=1, max_size=2)
    fields = {name: values(schema.property(name) or TEXT) for name in schema.properties}
    key = {"name": NAMES} if fields.pop("name", None) is not None else {}
    return st.fixed_dictionaries(key, optional=fields).filter(bool)


class Step(NamedTuple):
    kind: str
    manager: str
    content: Object


class Story(NamedTuple):
    schema: Schema
    steps: list[Step]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    schema = draw(SCHEMAS)
    step = st.builds(
        Step,
        st.sampled_from(["apply", "apply", "force", "update"]),
        st.sampled_from(["one", "two"]),
        st.one_of(values(schema), st.just({})),
    )
    return Story(schema, draw(st.lists(step, min_size=1, max_size=6)))


METADATA = Schema("struct", properties={"managedFields": ANY})


def whole(schema: Schema) -> Schema:
    """The type as that of an object."""
    return Schema("struct", properties={**schema.properties, "metadata": METADATA})


def content(obj: Object) -> Object:
    """An object without metadata and without what is null or empty: as it is stored."""
    return {name: value for name, value in _dense(obj).items() if name != "metadata"}


def _dense(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: item for name, each in value.items() if (item := _dense(each)) not in (None, {}, [])}
    return [_dense(item) for item in value] if isinstance(value, list) else value


def owners(obj: Object) -> dict[tuple[str, str], set[tuple[str, ...]]]:
    return {
        (entry["manager"], entry["operation"]): set(paths(entry["fieldsV1"]))
        for entry in obj["metadata"].get("managedFields", ())
    }


def stored(obj: Object) -> Object:
    return {**content(obj), "metadata": obj["metadata"]}


def take(live: Object, step: Step, schema: Schema) -> Object:
    """The live object after one step. Raises ApplyConflict."""
    new = {**step.content, "metadata": {}}
    if step.kind == "update":
        entries = track_update(live, new, schema, manager=step.manager, api_version="v1", time="t")
        return {**step.content, "metadata": {"managedFields": entries}}
    applier = Applier(step.manager, "v1", "t", force=step.kind == "force")
    return stored(apply(live, new, schema, applier).object)


@settings(max_examples=150)
@given(stories())
def test_apply_does_what_its_twin_does(story: Story) -> None:
    schema, twin = whole(story.schema), Twin(story.schema)
    live: Object = {"metadata": {}}
    for step in story.steps:
        expected: set[tuple[str, tuple[str, ...]]] = set()
        if step.kind == "update":
            twin.update(step.manager, step.content)
        else:
            expected = twin.apply(step.manager, step.content, step.kind == "force")
        try:
            live = take(live, step, schema)
            conflicts = set()
        except ApplyConflict as error:
            conflicts = {(conflict.manager, conflict.field) for conflict in error.conflicts}
        assert conflicts == {(manager, show_path(path)) for manager, path in expected}
        assert nodes_of(content(live), story.schema) == twin.nodes
        assert owners(live) == twin.owners


@settings(max_examples=60)
@given(stories())
def test_applying_twice_is_applying_once(story: Story) -> None:
    schema = whole(story.schema)
    live: Object = {"metadata": {}}
    for step in story.steps:
        before = live
        try:
            live = take(live, step, schema)
        except ApplyConflict:
            assert live is before
            continue
        if step.kind == "update":
            continue
        config = {**step.content, "metadata": {}}
        again = Applier(step.manager, "v1", "later", force=step.kind == "force")
        assert apply(live, config, schema, again).object is live
        assert not would_change(live, config, schema, again)
        # What was applied is there, and its manager owns it.
        assert nodes_of(step.content, story.schema).items() <= nodes_of(content(live), story.schema).items()


@settings(max_examples=60)
@given(stories())
def test_nobody_loses_a_field_without_a_conflict_or_force(story: Story) -> None:
    schema = whole(story.schema)
    live: Object = {"metadata": {}}
    for step in story.steps:
        before = live
        try:
            live = take(live, step, schema)
        except ApplyConflict:
            continue
        if step.kind != "apply":
            continue
        applied_by_others = {
            path
            for (manager, operation), fields in owners(before).items()
            for path in fields
            if operation == "Apply" and manager != step.manager
        }
        old, new = (nodes_of(content(each), story.schema) for each in (before, live))
        assert all(new[path] == old[path] for path in applied_by_others)


@settings(max_examples=30)
@given(stories())
def test_arguments_are_left_alone(story: Story) -> None:
    schema = whole(story.schema)
    live: Object = {"metadata": {}}
    for step in story.steps:
        before, config = repr(live), repr(step.content)
        try:
            after = take(live, step, schema)
        except ApplyConflict:
            after = live
        assert (repr(live), repr(step.content)) == (before, config)
        live = after


ORDERED = whole(Schema("struct", properties={"items": Schema("list", values=TEXT, list_type="set")}))
ITEMS = st.lists(st.sampled_from("abcdef"), unique=True)


@given(ITEMS, ITEMS)
def test_items_keep_the_order_of_their_list(live: list[str], config: list[str]) -> None:
    obj = {"items": live, "metadata": {}}
    applier = Applier("one", "v1", "t", force=True)
    merged = apply(obj, {"items": config, "metadata": {}}, ORDERED, applier).object["items"]
    assert sorted(merged) == sorted({*live, *config})
    assert [item for item in merged if item in config] == config
    assert [item for item in merged if item not in config] == [item for item in live if item not in config]
