"""The rules for names, keys and values, in Kubernetes' words."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from steersman.objects import names

Rule = Callable[[str], list[str]]

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = LABEL + r"(\." + LABEL + ")*"
LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    f"regex used for validation is '{LABEL}')"
)
SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{SUBDOMAIN}')"
)
KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
KEY_MESSAGE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{KEY}')"
)
VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '({KEY})?')"
)
CONFIG_KEY_MESSAGE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


@pytest.mark.parametrize(
    ("rule", "text", "messages"),
    [
        (names.is_dns1123_label, "a-1", []),
        (names.is_dns1123_label, "a" * 63, []),
        (names.is_dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.is_dns1123_label, "a.b", ["must not contain dots"]),
        (names.is_dns1123_label, "A", [LABEL_MESSAGE]),
        (names.is_dns1123_label, "a\n", [LABEL_MESSAGE]),
        (names.is_dns1123_label, "", [LABEL_MESSAGE]),
        (names.is_dns1123_subdomain, "a.b-c.9", []),
        (names.is_dns1123_subdomain, "Bad_Name", [SUBDOMAIN_MESSAGE]),
        (names.is_dns1123_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (names.is_long_name, "a" * 254, ["must be no more than 253 bytes"]),
        (names.is_long_name, "Bad_Name", [SUBDOMAIN_MESSAGE]),
        (names.is_dns1123_subdomain_with_underscore, "_a.b_c", []),
        (names.is_dns1123_subdomain_caseless, "Example.COM", []),
        (names.is_dns1035_label, "a1", []),
        (names.is_wildcard_dns1123_subdomain, "*.example.com", []),
        (names.is_label_key, "app", []),
        (names.is_label_key, "example.com/App_1", []),
        (names.is_label_key, "", ["name part must be non-empty", "name part " + KEY_MESSAGE]),
        (names.is_label_key, "/x", ["prefix part must be non-empty"]),
        (names.is_label_key, "UP/x", ["prefix part " + SUBDOMAIN_MESSAGE]),
        (names.is_label_key, "a" * 64, ["name part must be no more than 63 bytes"]),
        (
            names.is_label_key,
            "a/b/c",
            [
                f"a valid label key {KEY_MESSAGE} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
        (names.is_label_value, "", []),
        (names.is_label_value, "v_1.2-x", []),
        (names.is_label_value, "-", [VALUE_MESSAGE]),
        (names.is_label_value, "é" * 32, ["must be no more than 63 bytes", VALUE_MESSAGE]),
        (names.is_prefixed_label_key, "a.b/c", []),
        (names.is_prefixed_label_key, "c", ["must include a prefix (e.g. 'example.com/key')"]),
        (names.is_domain_prefixed_key, "c", ['must be a domain-prefixed key (such as "acme.io/foo")']),
        (names.is_domain_prefixed_path, "acme.io/foo/bar", []),
        (names.is_domain_prefixed_path, "acme", ['must be a domain-prefixed path (such as "acme.io/foo")']),
        (names.is_config_map_key, "a.b", []),
        (names.is_config_map_key, "bad key!", [CONFIG_KEY_MESSAGE]),
        (names.is_config_map_key, "..", ["must not be '..'"]),
        (names.is_config_map_key, "..a", ["must not start with '..'"]),
        (names.is_env_var_name, "my.env-NAME", []),
        (names.is_relaxed_env_var_name, "any thing!", []),
        (names.is_relaxed_env_var_name, "", ["environment variable name must be non-empty"]),
        (
            names.is_relaxed_env_var_name,
            "a=b",
            [
                "a valid environment variable name must consist only of "
                "printable ASCII characters other than '='"
            ],
        ),
        (names.is_path_segment_name, "a:b", []),
        (names.is_path_segment_name, "..", ["may not be '..'"]),
        (names.is_path_segment_name, "a/b%", ["may not contain '/'", "may not contain '%'"]),
        (names.is_port_name, "http", []),
        (names.is_port_name, "a" * 16, ["must be no more than 15 characters"]),
        (names.is_port_name, "80", ["must contain at least one letter (a-z)"]),
        (
            names.is_port_name,
            "a--b-",
            ["must not contain consecutive hyphens", "must not begin or end with a hyphen"],
        ),
        (
            names.is_port_name,
            "",
            [
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must contain at least one letter (a-z)",
            ],
        ),
        (names.is_percent, "25%", []),
        (names.is_http_header_name, "X-Header", []),
        (names.is_c_identifier, "_a1", []),
        (names.is_condition_reason, "ReasonA,ReasonB", []),
        (names.is_decimal_integer, "-10", []),
        (names.is_decimal_integer, "007", ["must be a valid decimal integer in canonical form"]),
        (names.is_decimal_integer, "-0", ["must be a valid decimal integer in canonical form"]),
        (names.is_decimal_integer, "", ["must be non-empty"]),
        (names.is_fully_qualified_name, "a.b.c", []),
        (
            names.is_fully_qualified_name,
            "a.b",
            ["should be a domain with at least three segments separated by dots"],
        ),
        (names.is_fully_qualified_domain_name, "a.b.", []),
        (
            names.is_fully_qualified_domain_name,
            "a",
            ["should be a domain with at least two segments separated by dots"],
        ),
    ],
)
def test_rule_says_what_is_wrong(rule: Rule, text: str, messages: list[str]) -> None:
    assert rule(text) == messages


@pytest.mark.parametrize(
    ("rule", "text", "start"),
    [
        (names.is_dns1035_label, "1a", "a DNS-1035 label must consist of"),
        (
            names.is_wildcard_dns1123_subdomain,
            "*bar.com",
            "a wildcard DNS-1123 subdomain must start with '*.'",
        ),
        (
            names.is_env_var_name,
            "1a",
            "a valid environment variable name must consist of alphabetic characters",
        ),
        (names.is_percent, "a%", "a valid percent string must be a numeric string followed by an ending '%'"),
        (names.is_http_header_name, "a b", "a valid HTTP header must consist of"),
        (names.is_c_identifier, "1", "a valid C identifier must start with"),
        (names.is_condition_reason, "1", "a condition reason must start with alphabetic character"),
        (names.is_dns1123_subdomain_caseless, "a_b", "an RFC 1123 subdomain must consist of alphanumeric"),
        (names.is_dns1123_subdomain_with_underscore, "-", "a lowercase RFC 1123 subdomain must consist of"),
    ],
)
def test_mismatch_names_the_rule_and_its_pattern(rule: Rule, text: str, start: str) -> None:
    (message,) = rule(text)
    assert message.startswith(start)
    assert "regex used for validation is '" in message


@pytest.mark.parametrize(
    ("rule", "value", "fine"),
    [
        (names.is_port_number, 1, True),
        (names.is_port_number, 0, False),
        (names.is_port_number, 65536, False),
        (names.is_user_id, 2**31 - 1, True),
        (names.is_group_id, 2**31, False),
    ],
)
def test_numbers_have_an_inclusive_range(rule: Callable[[int], list[str]], value: int, fine: bool) -> None:
    messages = rule(value)
    assert (messages == []) is fine
    assert fine or messages[0].endswith(", inclusive")


def test_generate_name_prefix_may_end_in_a_dash() -> None:
    assert names.name_is_dns_subdomain("web-", True) == []
    assert names.name_is_dns_subdomain("web-", False) != []
    assert names.name_is_dns_label("web.", True) != []
    assert names.name_is_dns1035_label("11-", True) != []
    assert names.name_is_path_segment("..", True) == []
    assert names.name_is_path_segment("..", False) == ["may not be '..'"]


def test_generated_name_has_five_characters_and_fits_a_label() -> None:
    name = names.generate_name("web-", Random(1))
    assert name.startswith("web-")
    assert len(name) == 9
    assert set(name[4:]) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert names.generate_name("web-", Random(1)) == name
    assert names.generate_name("web-") != names.generate_name("web-")
    long = names.generate_name("a" * 100, Random(2))
    assert len(long) == 63
    assert long.startswith("a" * 58)
