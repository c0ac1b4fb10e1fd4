"""Lists cut into objects."""

from __future__ import annotations

import orjson
import pytest

from steersman.client import Listed, Unreachable
from steersman.client.listing import read_page
from steersman.objects.resource_type import ResourceType

PODS = ResourceType("", "v1", "Pod", "pods")
TYPE = {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (b'{"metadata":{"name":"a"},"spec":{}}', {**TYPE, "metadata": {"name": "a"}, "spec": {}}),
        (b"{}", TYPE),
        (b'{"spec":{},"metadata":{}}', {**TYPE, "spec": {}, "metadata": {}}),
        (b'{"kind":"Other","apiVersion":"x/v1"}', {"apiVersion": "x/v1", "kind": "Other"}),
        (b'{"apiVersion":"x/v1","kind":"Other"}', {"apiVersion": "x/v1", "kind": "Other"}),
        (b'{ "spec":{}, "kind":"Other"}', {"kind": "Other", "spec": {}}),
    ],
    ids=["built-in", "empty", "other order", "kind first", "apiVersion first", "kind last"],
)
def test_objects_say_what_they_are(item: bytes, expected: object) -> None:
    page = read_page(b'{"kind":"PodList","metadata":{},"items":[%b]}' % item, PODS)
    assert [orjson.loads(found) for found in page.items] == [expected]


def test_a_page_knows_its_revision_and_where_to_go_on() -> None:
    metadata = b'{"resourceVersion":"42","continue":"abc","remainingItemCount":7}'
    page = read_page(b'{"metadata":%b,"items":[]}' % metadata, PODS)
    assert (page.items, page.resource_version, page.continue_token, page.remaining) == ([], "42", "abc", 7)


@pytest.mark.parametrize("content", [b'{"metadata":{"resourceVersion":"1"},"items":null}', b"{}"])
def test_a_list_of_nothing_is_empty(content: bytes) -> None:
    assert read_page(content, PODS).items == []


@pytest.mark.parametrize("content", [b"", b"<html>", b'{"items":3}', b'{"items":[{]}'])
def test_what_is_no_list_is_an_error(content: bytes) -> None:
    with pytest.raises(Unreachable, match="the response is not a list of pods"):
        read_page(content, PODS)


def test_items_do_not_keep_the_whole_answer() -> None:
    page = read_page(b'{"items":[{"kind":"Pod"}]}', PODS)
    assert type(page.items[0]) is bytes


def test_listed_is_a_sequence() -> None:
    listed = Listed(["a", "b", "c"], "9")
    assert (len(listed), listed[0], listed[1:], list(listed), "b" in listed) == (
        3, "a", ["b", "c"], ["a", "b", "c"], True,
    )  # fmt: skip
