"""Options in query strings and DeleteOptions bodies: what is read, and how nonsense is refused."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.pipeline.options import (
    DeleteOptions,
    ListOptions,
    WriteOptions,
    check_timeout,
    connect_options,
    log_options,
    parse_query,
    parse_resource_version,
)
from steersman.objects.status import StatusError

UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"


def refused(error: pytest.ExceptionInfo[StatusError], kind: str) -> str:
    """What a 422 about options says, without its constant head."""
    status = error.value.status()
    head = f'{kind}.meta.k8s.io "" is invalid: '
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["details"]["kind"] == kind
    assert status["details"]["group"] == "meta.k8s.io"
    assert status["message"].startswith(head)
    return str(status["message"].removeprefix(head))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("a=1&b=", {"a": ["1"], "b": [""]}),
        ("a=1&a=2", {"a": ["1", "2"]}),
        ("watch", {"watch": [""]}),
        ("labelSelector=a%3Db%2Cc", {"labelSelector": ["a=b,c"]}),
        ("a=1+2", {"a": ["1 2"]}),
        ("a=%zz&b=1", {"b": ["1"]}),
        ("a%2=1&b=%41", {"b": ["A"]}),
        ("a;b=1&c=2", {"c": ["2"]}),
    ],
)
def test_query_strings(text: str, values: dict[str, list[str]]) -> None:
    assert parse_query(text) == values


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", WriteOptions()),
        ("unknown=1", WriteOptions()),
        ("dryRun=All", WriteOptions(dry_run=True)),
        ("dryRun=All&dryRun=All", WriteOptions(dry_run=True)),
        ("fieldManager=me", WriteOptions(field_manager="me")),
        ("fieldManager=%C3%A9", WriteOptions(field_manager="é")),
        (f"fieldManager={'m' * 128}", WriteOptions(field_manager="m" * 128)),
        ("fieldValidation=Strict", WriteOptions(field_validation="Strict")),
        ("fieldValidation=Ignore", WriteOptions(field_validation="Ignore")),
        ("fieldValidation=", WriteOptions(field_validation="Warn")),
        ("force=true", WriteOptions()),
    ],
)
def test_write_options(query: str, options: WriteOptions) -> None:
    assert WriteOptions.parse(parse_query(query), "CreateOptions") == options


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("dryRun=", 'dryRun: Unsupported value: [""]: supported values: "All"'),
        ("dryRun=Some", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ("dryRun=All&dryRun=x", 'dryRun: Unsupported value: ["All","x"]: supported values: "All"'),
        (
            "fieldValidation=Loose",
            'fieldValidation: Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
        ),
        (
            f"fieldManager={'m' * 129}",
            "fieldManager: Too long: may not be more than 128 bytes",
        ),
        (
            f"fieldManager={'%C3%A9' * 65}",
            "fieldManager: Too long: may not be more than 128 bytes",
        ),
        (
            "fieldManager=%C3%A9%07",
            'fieldManager: Invalid value: "é\\a": invalid character U+0007 (at position 2)',
        ),
        (
            "fieldManager=a%0A&dryRun=x",
            '[fieldManager: Invalid value: "a\\n": invalid character U+000A (at position 1), '
            'dryRun: Unsupported value: ["x"]: supported values: "All"]',
        ),
    ],
)
@pytest.mark.parametrize("kind", ["CreateOptions", "UpdateOptions", "PatchOptions"])
def test_bad_write_options(query: str, said: str, kind: str) -> None:
    with pytest.raises(StatusError) as error:
        WriteOptions.parse(parse_query(query), kind)
    assert refused(error, kind) == said


@pytest.mark.parametrize("value", ["true", "false", ""])
def test_force_is_for_apply_alone(value: str) -> None:
    query = parse_query(f"force={value}")
    with pytest.raises(StatusError) as error:
        WriteOptions.parse(query, "PatchOptions")
    assert refused(error, "PatchOptions") == "force: Forbidden: may not be specified for non-apply patch"
    applied = WriteOptions.parse({**query, "fieldManager": ["me"]}, "PatchOptions", apply=True)
    assert applied.force is (value != "false")


@pytest.mark.parametrize("query", ["", "force=true", "fieldManager="])
def test_apply_needs_a_manager(query: str) -> None:
    with pytest.raises(StatusError) as error:
        WriteOptions.parse(parse_query(query), "PatchOptions", apply=True)
    assert refused(error, "PatchOptions") == "fieldManager: Required value: is required for apply patch"


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ({}, DeleteOptions()),
        ({"gracePeriodSeconds": 0}, DeleteOptions(grace_period_s=0)),
        ({"gracePeriodSeconds": -5}, DeleteOptions(grace_period_s=1)),
        ({"propagationPolicy": "Orphan"}, DeleteOptions(propagation="Orphan")),
        ({"orphanDependents": False}, DeleteOptions(orphan_dependents=False)),
        ({"dryRun": ["All"]}, DeleteOptions(dry_run=True)),
        ({"dryRun": []}, DeleteOptions()),
        (
            {"preconditions": {"uid": "u", "resourceVersion": "5"}},
            DeleteOptions(uid="u", resource_version="5"),
        ),
    ],
    ids=str,
)
def test_delete_options_in_a_body(body: dict[str, Any], options: DeleteOptions) -> None:
    assert DeleteOptions.parse({}, body) == options


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", DeleteOptions()),
        ("gracePeriodSeconds=7", DeleteOptions(grace_period_s=7)),
        ("gracePeriodSeconds=%2B7", DeleteOptions(grace_period_s=7)),
        ("gracePeriodSeconds=-1", DeleteOptions(grace_period_s=1)),
        ("orphanDependents=true", DeleteOptions(orphan_dependents=True)),
        ("orphanDependents=0", DeleteOptions(orphan_dependents=False)),
        ("propagationPolicy=Foreground", DeleteOptions(propagation="Foreground")),
        ("dryRun=All", DeleteOptions(dry_run=True)),
        ("uid=u", DeleteOptions(uid="u")),
        ("uid=u&resourceVersion=5", DeleteOptions(uid="u", resource_version="5")),
        ("uid=&resourceVersion=", DeleteOptions()),
        ("preconditions.uid=u", DeleteOptions()),
        ("ignoreStoreReadErrorWithClusterBreakingPotential=true", DeleteOptions(unsafe=True)),
    ],
)
def test_delete_options_in_a_query(query: str, options: DeleteOptions) -> None:
    assert DeleteOptions.parse(parse_query(query), None) == options


def test_a_body_of_delete_options_outweighs_the_query() -> None:
    assert DeleteOptions.parse(parse_query("gracePeriodSeconds=7&dryRun=All"), {}) == DeleteOptions()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"propagationPolicy": "Nope"},
            'propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", '
            '"Orphan", "nil"',
        ),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be '
            "both set",
        ),
        ({"dryRun": ["x"]}, 'dryRun: Unsupported value: ["x"]: supported values: "All"'),
        (
            {UNSAFE: True, "gracePeriodSeconds": 1, "preconditions": {}},
            f"[{UNSAFE}: Invalid value: true: cannot be set together with .gracePeriodSeconds, "
            f"{UNSAFE}: Invalid value: true: cannot be set together with .preconditions]",
        ),
        (
            {UNSAFE: True, "propagationPolicy": "Orphan"},
            f"{UNSAFE}: Invalid value: true: cannot be set together with .propagationPolicy",
        ),
    ],
)
def test_bad_delete_options(body: dict[str, Any], said: str) -> None:
    with pytest.raises(StatusError) as error:
        DeleteOptions.parse({}, body)
    assert refused(error, "DeleteOptions") == said


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", ListOptions()),
        (
            "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=5&continue=abc",
            ListOptions("a=b", "metadata.name=x", limit=5, continue_token="abc"),
        ),
        ("resourceVersion=0", ListOptions(resource_version=0)),
        (
            "resourceVersion=5&resourceVersionMatch=Exact",
            ListOptions(resource_version=5, resource_version_match="Exact"),
        ),
        ("watch=true&timeoutSeconds=3", ListOptions(watch=True, timeout_s=3)),
        ("watch", ListOptions(watch=True)),
        ("watch=0", ListOptions()),
        (
            "watch=1&resourceVersion=5&continue=x",
            ListOptions(watch=True, resource_version=5, continue_token="x"),
        ),
        ("watch=False", ListOptions()),
        ("watch=1&allowWatchBookmarks=yes", ListOptions(watch=True, allow_bookmarks=True)),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            ListOptions(watch=True, send_initial_events=True, resource_version_match="NotOlderThan"),
        ),
    ],
)
def test_list_options(query: str, options: ListOptions) -> None:
    assert ListOptions.parse(parse_query(query)) == options


def test_a_watch_by_path_is_a_watch() -> None:
    assert ListOptions.parse({}, watch=True) == ListOptions(watch=True)


MATCH = "resourceVersionMatch"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            f"{MATCH}=Exact",
            f"{MATCH}: Forbidden: {MATCH} is forbidden unless resourceVersion is provided",
        ),
        (
            f"{MATCH}=Exact&resourceVersion=5&continue=x",
            f"{MATCH}: Forbidden: {MATCH} is forbidden when continue is provided",
        ),
        (
            f"{MATCH}=Some&resourceVersion=5",
            f'{MATCH}: Unsupported value: "Some": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            f"{MATCH}=Exact&resourceVersion=0",
            f'{MATCH}: Forbidden: {MATCH} "exact" is forbidden for resourceVersion "0"',
        ),
        (
            "sendInitialEvents=false",
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
        ),
        (
            "watch=1&sendInitialEvents=true",
            f"{MATCH}: Forbidden: sendInitialEvents requires setting {MATCH} to NotOlderThan",
        ),
        (
            f"watch=1&{MATCH}=NotOlderThan",
            f"{MATCH}: Forbidden: {MATCH} is forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            f"watch=1&sendInitialEvents=1&{MATCH}=Exact",
            f"[{MATCH}: Forbidden: sendInitialEvents requires setting {MATCH} to NotOlderThan, "
            f'{MATCH}: Unsupported value: "Exact": supported values: "NotOlderThan"]',
        ),
        ("watch=1&continue=x", f"{MATCH}: Forbidden: {MATCH} is forbidden when continue is provided"),
        (
            "watch=1&resourceVersion=0&continue=x",
            f"{MATCH}: Forbidden: {MATCH} is forbidden when continue is provided",
        ),
        (
            f"watch=1&sendInitialEvents=1&{MATCH}=NotOlderThan&continue=x",
            f"{MATCH}: Forbidden: {MATCH} is forbidden when continue is provided",
        ),
    ],
)
def test_bad_list_options(query: str, said: str) -> None:
    with pytest.raises(StatusError) as error:
        ListOptions.parse(parse_query(query))
    assert refused(error, "ListOptions") == said


@pytest.mark.parametrize("name", ["limit", "timeoutSeconds"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "invalid syntax"),
        ("x", "invalid syntax"),
        ("1.5", "invalid syntax"),
        ("1_000", "invalid syntax"),
        (" 5", "invalid syntax"),
        ("٥", "invalid syntax"),
        ("0x1", "invalid syntax"),
        ("-", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
        ("-9223372036854775809", "value out of range"),
        ("9" * 5000, "value out of range"),
    ],
    ids=lambda text: text[:20],
)
def test_bad_numbers(name: str, text: str, problem: str) -> None:
    with pytest.raises(StatusError) as error:
        ListOptions.parse({name: [text]})
    assert (error.value.code, error.value.reason) == (400, "BadRequest")
    assert error.value.message == f'strconv.ParseInt: parsing "{text}": {problem}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abc", 'invalid duration "abc"'),
        ("5", 'missing unit in duration "5"'),
        ("5x", 'unknown unit "x" in duration "5x"'),
    ],
)
def test_bad_timeouts(text: str, problem: str) -> None:
    with pytest.raises(StatusError) as error:
        check_timeout({"timeout": [text]})
    head = "invalid timeout specified in the request URL - time: "
    assert (error.value.code, error.value.message) == (400, head + problem)


@pytest.mark.parametrize("text", ["", "0", "1h30m", "-1s"])
def test_timeouts_as_go_reads_them(text: str) -> None:
    check_timeout({"timeout": [text]})


@pytest.mark.parametrize("text", ["9223372036854775807", "-9223372036854775808", "+1", "000"])
def test_numbers_as_go_reads_them(text: str) -> None:
    assert ListOptions.parse({"timeoutSeconds": [text]}).timeout_s == int(text)


@pytest.mark.parametrize(
    ("text", "version"), [("", None), ("0", 0), ("7", 7), ("18446744073709551615", (1 << 64) - 1)]
)
def test_resource_versions(text: str, version: int | None) -> None:
    assert parse_resource_version(text) == version


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("٥", "invalid syntax"),
        ("18446744073709551616", "value out of range"),
        ("9" * 5000, "value out of range"),
    ],
    ids=lambda text: text[:20],
)
def test_bad_resource_versions(text: str, problem: str) -> None:
    detail = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {problem}'
    with pytest.raises(StatusError) as error:
        parse_resource_version(text, listing=True)
    assert (error.value.code, error.value.message) == (400, f"invalid resource version: {detail}")
    with pytest.raises(StatusError) as error:
        parse_resource_version(text)
    assert (error.value.code, error.value.reason, error.value.message) == (500, "", detail)


@pytest.mark.parametrize(
    ("kind", "query", "path", "options"),
    [
        pytest.param(
            "PodAttachOptions",
            "stdin=true&stdout=1&stderr=false&tty=0&container=main",
            "",
            {"stdin": True, "stdout": True, "container": "main"},
            id="attach",
        ),
        pytest.param(
            "PodExecOptions",
            "command=sh&command=-c&tty",
            "",
            {"tty": True, "command": ["sh", "-c"]},
            id="exec",
        ),
        pytest.param(
            "PodPortForwardOptions",
            "ports=80&ports=443,53",
            "",
            {"ports": [80, 443, 53]},
            id="portforward",
        ),
        pytest.param("ServiceProxyOptions", "stdin=true", "/a/b", {"path": "/a/b"}, id="proxy"),
        pytest.param("NodeProxyOptions", "", "", {}, id="proxy without a path"),
    ],
)
def test_options_of_connections(kind: str, query: str, path: str, options: dict[str, Any]) -> None:
    found = connect_options(parse_query(query), kind, path)
    assert found == {"kind": kind, "apiVersion": "v1", **options}


@pytest.mark.parametrize(
    ("port", "why"),
    [
        ("http", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("", "invalid syntax"),
        ("65536", "value out of range"),
    ],
)
def test_a_port_that_is_none_is_refused(port: str, why: str) -> None:
    with pytest.raises(StatusError) as refused:
        connect_options(parse_query(f"ports=80,{port}"), "PodPortForwardOptions", "")
    said = f'cannot convert to []int32: strconv.ParseUint: parsing "{port}": {why}'
    assert (refused.value.code, str(refused.value)) == (400, said)


def test_a_time_that_is_none_is_refused_in_gos_words() -> None:
    with pytest.raises(StatusError) as refused:
        log_options(parse_query("sinceTime=x"))
    assert str(refused.value) == 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'
