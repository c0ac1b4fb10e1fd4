"""Links of proxied pages, seen from outside."""

from __future__ import annotations

import pytest

from steersman.cluster.apiserver.subresources.proxied_links import ProxiedLinks
from steersman.http import Headers

PREFIX = "/api/v1/namespaces/x/pods/p/proxy"
LINKS = ProxiedLinks(PREFIX, "10.0.0.7:80", "api.example:6443")


@pytest.mark.parametrize(
    ("link", "seen"),
    [
        ("/a/b?c#d", f"{PREFIX}/a/b?c#d"),
        ("/", f"{PREFIX}/"),
        ("a/b", "a/b"),
        ("#here", "#here"),
        ("", ""),
        ("https://else.where/a", "https://else.where/a"),
        ("http://10.0.0.7:80/a", f"{PREFIX}/a"),
        ("https://api.example:6443/a", f"https://api.example:6443{PREFIX}/a"),
        (f"{PREFIX}/a", f"{PREFIX}/a"),
        ("http://[bad", "http://[bad"),
        ("javascript:x()", "javascript:x()"),
    ],
)
def test_links_to_the_page_s_own_server_lead_through_the_proxy(link: str, seen: str) -> None:
    assert LINKS.link(link) == seen


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ('<a href="/x">', f'<a href="{PREFIX}/x">'),
        ("<A class=k HREF='/x' id=1>", f'<A class=k HREF="{PREFIX}/x" id=1>'),
        ("<a href=/x>", f'<a href="{PREFIX}/x">'),
        ('<img alt="/x" src="/y"/>', f'<img alt="/x" src="{PREFIX}/y"/>'),
        ('<a href="/x?a=1&amp;b=2">', f'<a href="{PREFIX}/x?a=1&amp;b=2">'),
        ('<p href="/x">', '<p href="/x">'),
        ('<!-- <a href="/x"> -->', '<!-- <a href="/x"> -->'),
        (
            '<script src="/x">s = \'<a href="/y">\'</script><a href="/z">',
            f'<script src="{PREFIX}/x">s = \'<a href="/y">\'</script><a href="{PREFIX}/z">',
        ),
        ('<style>a[href="/x"]', '<style>a[href="/x"]'),
        ('a < b <a href="/x" ', 'a < b <a href="/x" '),
        ("", ""),
    ],
)
def test_only_attributes_that_hold_urls_are_changed(page: str, seen: str) -> None:
    assert LINKS.body(page.encode()) == seen.encode()


def test_bytes_that_are_no_text_survive() -> None:
    assert LINKS.body(b'\xff\x00<a href="/x">\xfe') == f'\\<a href="{PREFIX}/x">|'.encode().replace(
        b"\\", b"\xff\x00"
    ).replace(b"|", b"\xfe")


@pytest.mark.parametrize("piece", [b"<a href='", b'<b "', b"<!--", b"<script", b"<script>", b"<a x="])
def test_a_hostile_page_is_read_in_time(piece: bytes) -> None:
    """Tags, quotes and comments that never end: a time that grows with the square would be minutes."""
    page = piece * 500_000
    assert LINKS.body(page) == page


@pytest.mark.parametrize(
    ("fields", "concerned"),
    [
        ({"content-type": "text/html"}, True),
        ({"content-type": "Text/HTML; charset=utf-8"}, True),
        ({"content-type": "text/plain"}, False),
        ({}, False),
        ({"content-type": "text/html", "content-encoding": "br"}, False),
        ({"content-type": "text/html", "location": "/x"}, False),
    ],
)
def test_only_pages_are_concerned(fields: dict[str, str], concerned: bool) -> None:
    raw = [(name.encode(), value.encode()) for name, value in fields.items()]
    assert LINKS.concerns(Headers(raw)) is concerned
