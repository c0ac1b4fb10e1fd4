"""Label and field selectors."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.errors import SelectorError
from steersman.objects.selectors import (
    EVERYTHING,
    NOTHING,
    FieldSelector,
    LabelSelector,
    Requirement,
    escape_field_value,
    format_label_selector,
)


@pytest.mark.parametrize(
    ("text", "spelled", "matching", "other"),
    [
        ("a=b", "a=b", {"a": "b"}, {"a": "c"}),
        ("a==b", "a==b", {"a": "b"}, {}),
        ("a!=b", "a!=b", {}, {"a": "b"}),
        ("a", "a", {"a": ""}, {}),
        ("!a", "!a", {}, {"a": "x"}),
        (" ! a ", "!a", {}, {"a": "x"}),
        ("a=", "a=", {"a": ""}, {}),
        ("a in (y,x)", "a in (x,y)", {"a": "y"}, {"a": "z"}),
        ("a in ()", "a in ()", {"a": ""}, {"a": "z"}),
        ("a in (,x,)", "a in (,x)", {"a": ""}, {"a": "y"}),
        ("a notin (x,y)", "a notin (x,y)", {}, {"a": "x"}),
        ("a notin (x)", "a notin (x)", {"a": "y"}, {"a": "x"}),
        ("a>5", "a>5", {"a": "6"}, {"a": "5"}),
        ("a<5", "a<5", {"a": "-1"}, {"a": "x"}),
        ("in in (in,notin)", "in in (in,notin)", {"in": "in"}, {"in": "a"}),
        ("b=1,a=2", "a=2,b=1", {"a": "2", "b": "1"}, {"a": "2"}),
        ("c=1,a=2,b=3", "a=2,b=3,c=1", {"a": "2", "b": "3", "c": "1"}, {"a": "2", "b": "3"}),
        ("x.io/a=b", "x.io/a=b", {"x.io/a": "b"}, {"a": "b"}),
    ],
)
def test_parsed_selector_matches(
    text: str, spelled: str, matching: dict[str, str], other: dict[str, str]
) -> None:
    selector = LabelSelector.parse(text)
    assert str(selector) == spelled
    assert selector.matches(matching)
    assert not selector.matches(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b,=", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        (
            "a>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_what_is_no_selector(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        LabelSelector.parse(text)
    assert str(caught.value) == message


def test_bad_keys_and_values_are_named_as_the_server_does() -> None:
    with pytest.raises(
        SelectorError, match='unable to parse requirement: <nil>: Invalid value: "-a": name part'
    ):
        LabelSelector.parse("-a=b")
    with pytest.raises(SelectorError, match=r'values\[0\]\[a\]: Invalid value: "-": a valid label must be'):
        LabelSelector.parse("a=-")


def test_missing_selector_object_selects_nothing_and_an_empty_one_everything() -> None:
    assert LabelSelector.from_object(None) is NOTHING
    assert not NOTHING.matches({"a": "b"})
    assert not NOTHING.empty
    assert LabelSelector.from_object({}) is EVERYTHING
    assert EVERYTHING.matches({})
    assert LabelSelector.parse("").empty


def test_selector_object() -> None:
    selector = LabelSelector.from_object(
        {
            "matchLabels": {"b": "1"},
            "matchExpressions": [
                {"key": "a", "operator": "In", "values": ["y", "x"]},
                {"key": "c", "operator": "NotIn", "values": ["z"]},
                {"key": "d", "operator": "Exists"},
                {"key": "e", "operator": "DoesNotExist"},
            ],
        }
    )
    assert str(selector) == "a in (x,y),b=1,c notin (z),d,!e"
    assert selector.matches({"a": "x", "b": "1", "d": ""})
    assert not selector.matches({"a": "x", "b": "1", "d": "", "e": ""})
    assert selector.exact_value("b") == "1"
    assert selector.exact_value("a") is None
    assert selector.exact_value("missing") is None


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            '"Gt" is not a valid label selector operator',
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["1"]}]},
            'values: Invalid value: ["1"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_bad_selector_object(selector: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        LabelSelector.from_object(selector)
    assert str(caught.value) == message
    assert format_label_selector(selector) == "<error>"


def test_requirement_checks_its_number_of_values() -> None:
    with pytest.raises(SelectorError, match="exact-match compatibility requires one single value"):
        Requirement("a", "=", ("x", "y")).check()
    with pytest.raises(SelectorError, match="exactly one value is required"):
        Requirement("a", "gt", ()).check()


def test_tables_show_none_for_an_empty_selector() -> None:
    assert format_label_selector({}) == "<none>"
    assert format_label_selector(None) == "<none>"
    assert format_label_selector({"matchLabels": {"a": "b"}}) == "a=b"


def test_selector_from_labels_takes_them_as_they_are() -> None:
    assert LabelSelector.from_labels(None) is EVERYTHING
    assert LabelSelector.from_labels({"a": "!"}).matches({"a": "!"})


label_names = st.from_regex(r"[a-z]{1,3}(/[A-Z]{1,3})?", fullmatch=True)
label_values = st.from_regex(r"([a-z0-9]{1,3})?", fullmatch=True)
requirements = st.one_of(
    st.builds(Requirement, label_names, st.sampled_from(["exists", "!"])),
    st.builds(Requirement, label_names, st.sampled_from(["=", "==", "!="]), st.tuples(label_values)),
    st.builds(
        lambda key, operator, number: Requirement(key, operator, (str(number),)),
        label_names,
        st.sampled_from(["gt", "lt"]),
        st.integers(0, 10),
    ),
    st.builds(
        lambda key, operator, values: Requirement(key, operator, tuple(sorted(values))),
        label_names,
        st.sampled_from(["in", "notin"]),
        st.sets(label_values, min_size=1, max_size=3),
    ),
)


@given(st.lists(requirements, min_size=1, max_size=4))
def test_printed_selector_parses_to_itself(wanted: list[Requirement]) -> None:
    selector = LabelSelector(wanted)
    assert LabelSelector.parse(str(selector)).requirements == selector.requirements


def plainly_matches(requirement: Requirement, labels: dict[str, str]) -> bool:
    present = requirement.key in labels
    value = labels.get(requirement.key)
    match requirement.operator:
        case "exists":
            return present
        case "!":
            return not present
        case "=" | "==" | "in":
            return present and value in requirement.values
        case "!=" | "notin":
            return not present or value not in requirement.values
    if value is None or not value.isdigit():
        return False
    bound = int(requirement.values[0])
    return int(value) > bound if requirement.operator == "gt" else int(value) < bound


@given(st.lists(requirements, max_size=3), st.dictionaries(label_names, label_values, max_size=4))
def test_compiled_matching_agrees_with_the_definition(
    wanted: list[Requirement], labels: dict[str, str]
) -> None:
    assert LabelSelector(wanted).matches(labels) is all(plainly_matches(item, labels) for item in wanted)


@given(st.text(max_size=20))
def test_any_text_parses_or_is_refused(text: str) -> None:
    for parse in (LabelSelector.parse, FieldSelector.parse):
        with suppress(SelectorError):
            assert isinstance(str(parse(text)), str)


def test_field_selector() -> None:
    selector = FieldSelector.parse("spec.nodeName=n1,status.phase!=Failed,metadata.name==a")
    assert [(item.field, item.equal, item.value) for item in selector.requirements] == [
        ("metadata.name", True, "a"),
        ("spec.nodeName", True, "n1"),
        ("status.phase", False, "Failed"),
    ]
    assert str(selector) == "metadata.name=a,spec.nodeName=n1,status.phase!=Failed"
    assert selector.matches({"metadata.name": "a", "spec.nodeName": "n1"})
    assert not selector.matches({"metadata.name": "a"})
    assert selector.exact_value("metadata.name") == "a"
    assert selector.exact_value("status.phase") is None
    assert FieldSelector.parse("").empty
    assert FieldSelector.parse("a=").matches({})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("x=1,a", "invalid selector: 'x=1,a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=\\x", "invalid field selector: invalid escape sequence: \\x"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_what_is_no_field_selector(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        FieldSelector.parse(text)
    assert str(caught.value) == message


@given(st.text(max_size=10), st.text(max_size=10))
def test_escaped_values_survive(first: str, second: str) -> None:
    text = f"a={escape_field_value(first)},b!={escape_field_value(second)}"
    selector = FieldSelector.parse(text)
    assert [item.value for item in selector.requirements] == [first, second]
    assert str(selector) == text
