"""Kubernetes' rules for names, keys and values: `is_<rule>(text)` says what is wrong, in its own words.

Every function returns the list of messages a client would see, empty when the text is fine. Lengths
count UTF-8 bytes, as the API server counts them. Called by the validation of metadata and built-in
types, by selectors and by the builders; knows nothing of objects. Addresses are in `addresses`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random, SystemRandom
from typing import Final

__all__ = [
    "NameCheck",
    "empty_message",
    "generate_name",
    "is_c_identifier",
    "is_condition_reason",
    "is_config_map_key",
    "is_decimal_integer",
    "is_dns1035_label",
    "is_dns1123_label",
    "is_dns1123_subdomain",
    "is_dns1123_subdomain_caseless",
    "is_dns1123_subdomain_with_underscore",
    "is_domain_prefixed_key",
    "is_domain_prefixed_path",
    "is_env_var_name",
    "is_fully_qualified_domain_name",
    "is_fully_qualified_name",
    "is_group_id",
    "is_http_header_name",
    "is_in_range",
    "is_label_key",
    "is_label_value",
    "is_long_name",
    "is_path_segment_name",
    "is_path_segment_prefix",
    "is_percent",
    "is_port_name",
    "is_port_number",
    "is_prefixed_label_key",
    "is_qualified_name",
    "is_relaxed_env_var_name",
    "is_short_name",
    "is_user_id",
    "is_wildcard_dns1123_subdomain",
    "max_length_message",
    "name_is_dns1035_label",
    "name_is_dns_label",
    "name_is_dns_subdomain",
    "name_is_path_segment",
    "range_message",
    "regex_message",
]

#: A resource's rule for its names; the flag says the text is a generateName, to which more is appended.
NameCheck = Callable[[str, bool], list[str]]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_UNDERSCORE_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN: Final = rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*"
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_DNS1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_LABEL_KEY})?"
_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_PERCENT: Final = "[0-9]+%"
_HTTP_HEADER: Final = "[-A-Za-z0-9]+"
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_ENV_VAR: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_label = re.compile(_LABEL).fullmatch
_subdomain = re.compile(_SUBDOMAIN).fullmatch
_caseless_subdomain = re.compile(_SUBDOMAIN, re.IGNORECASE | re.ASCII).fullmatch
_underscore_subdomain = re.compile(_UNDERSCORE_SUBDOMAIN).fullmatch
_wildcard = re.compile(_WILDCARD).fullmatch
_dns1035 = re.compile(_DNS1035).fullmatch
_label_key = re.compile(_LABEL_KEY).fullmatch
_label_value = re.compile(_LABEL_VALUE).fullmatch
_c_identifier = re.compile(_C_IDENTIFIER).fullmatch
_percent = re.compile(_PERCENT).fullmatch
_http_header = re.compile(_HTTP_HEADER).fullmatch
_http_path = re.compile(_HTTP_PATH).fullmatch
_env_var = re.compile(_ENV_VAR).fullmatch
_config_key = re.compile(_CONFIG_KEY).fullmatch
_reason = re.compile(_REASON).fullmatch
_port_name = re.compile("[-a-z0-9]+").fullmatch
_letter = re.compile("[a-z]").search
_decimal = re.compile("0|-?[1-9][0-9]*").fullmatch
_printable_ascii_but_equals = re.compile("[ -<>-~]*").fullmatch

_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_CASELESS_TEXT: Final = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_UNDERSCORE_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_DNS1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_WILDCARD_TEXT: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
    "which must consist of lower case alphanumeric characters, '-' or '.' "
    "and end with an alphanumeric character"
)
_LABEL_KEY_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_REASON_TEXT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
)
_NAME_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253


def max_length_message(length: int, unit: str = "characters") -> str:
    return f"must be no more than {length} {unit}"


def regex_message(rule: str, pattern: str, *examples: str) -> str:
    """The rule, some examples and the pattern, as every mismatch is told."""
    if not examples:
        return f"{rule} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def empty_message() -> str:
    return "must be non-empty"


def range_message(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def _too_long(text: str, limit: int) -> bool:
    return len(text) > limit or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > limit)


def _length_errors(text: str, limit: int, unit: str = "characters") -> list[str]:
    return [max_length_message(limit, unit)] if _too_long(text, limit) else []


# --- DNS names


def is_dns1123_label(text: str) -> list[str]:
    return _label_errors(text, "characters")


def is_short_name(text: str) -> list[str]:
    """A label, in the words of fields whose rules are declared with their types."""
    return _label_errors(text, "bytes")


def _label_errors(text: str, unit: str) -> list[str]:
    errors = _length_errors(text, _NAME_LENGTH, unit)
    if not _label(text):
        # A subdomain that is no label can only differ by its dots.
        if _subdomain(text):
            errors.append("must not contain dots")
        else:
            errors.append(regex_message(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return errors


def is_dns1123_subdomain(text: str) -> list[str]:
    return _subdomain_errors(text, "characters")


def is_long_name(text: str) -> list[str]:
    """A subdomain, in the words of fields whose rules are declared with their types."""
    return _subdomain_errors(text, "bytes")


def _subdomain_errors(text: str, unit: str) -> list[str]:
    errors = _length_errors(text, _SUBDOMAIN_LENGTH, unit)
    if not _subdomain(text):
        errors.append(regex_message(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return errors


def is_dns1123_subdomain_caseless(text: str) -> list[str]:
    errors = _length_errors(text, _SUBDOMAIN_LENGTH, "bytes")
    if not _caseless_subdomain(text):
        errors.append(regex_message(_CASELESS_TEXT, _SUBDOMAIN, "Example.com"))
    return errors


def is_dns1123_subdomain_with_underscore(text: str) -> list[str]:
    errors = _length_errors(text, _SUBDOMAIN_LENGTH)
    if not _underscore_subdomain(text):
        errors.append(regex_message(_UNDERSCORE_TEXT, _UNDERSCORE_SUBDOMAIN, "example.com"))
    return errors


def is_dns1035_label(text: str) -> list[str]:
    errors = _length_errors(text, _NAME_LENGTH)
    if not _dns1035(text):
        errors.append(regex_message(_DNS1035_TEXT, _DNS1035, "my-name", "abc-123"))
    return errors


def is_wildcard_dns1123_subdomain(text: str) -> list[str]:
    errors = _length_errors(text, _SUBDOMAIN_LENGTH)
    if not _wildcard(text):
        errors.append(regex_message(_WILDCARD_TEXT, _WILDCARD, "*.example.com"))
    return errors


def is_fully_qualified_name(text: str) -> list[str]:
    """At least three segments, no trailing dot. Emptiness is the caller's to report (Required)."""
    errors = is_dns1123_subdomain(text)
    if errors:
        return [",".join(errors)]
    if text.count(".") < 2:
        return ["should be a domain with at least three segments separated by dots"]
    return []


def is_fully_qualified_domain_name(text: str) -> list[str]:
    """At least two segments, a trailing dot allowed. Emptiness is the caller's to report (Required)."""
    name = text.removesuffix(".")
    errors = is_dns1123_subdomain(name)
    if errors:
        return [",".join(errors)]
    if "." not in name:
        return ["should be a domain with at least two segments separated by dots"]
    for label in name.split("."):
        errors = is_dns1123_label(label)
        if errors:
            return [",".join(errors)]
    return []


# --- Labels, annotations and other keys


def is_label_key(text: str) -> list[str]:
    """An optional DNS subdomain and '/', then a name: labels, annotations, finalizers, resources."""
    if _label_key(text) and len(text) <= _NAME_LENGTH:
        return []
    parts = text.split("/")
    if len(parts) > 2:
        rule = regex_message(_LABEL_KEY_TEXT, _LABEL_KEY, "MyName", "my.name", "123-abc")
        return [
            f"a valid label key {rule} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    errors: list[str] = []
    if len(parts) == 2:
        reasons = _subdomain_errors(parts[0], "bytes") if parts[0] else [empty_message()]
        errors += [f"prefix part {reason}" for reason in reasons]
    name = parts[-1]
    if not name:
        errors.append(f"name part {empty_message()}")
    elif _too_long(name, _NAME_LENGTH):
        errors.append(f"name part {max_length_message(_NAME_LENGTH, 'bytes')}")
    if not _label_key(name):
        rule = regex_message(_LABEL_KEY_TEXT, _LABEL_KEY, "MyName", "my.name", "123-abc")
        errors.append(f"name part {rule}")
    return errors


#: Kubernetes has two names for the one rule.
is_qualified_name = is_label_key


def is_prefixed_label_key(text: str) -> list[str]:
    errors = is_label_key(text)
    if not errors and "/" not in text:
        return ["must include a prefix (e.g. 'example.com/key')"]
    return errors


def is_label_value(text: str) -> list[str]:
    errors = _length_errors(text, _NAME_LENGTH, "bytes")
    if not _label_value(text):
        errors.append(regex_message(_LABEL_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return errors


def is_domain_prefixed_key(text: str) -> list[str]:
    """Emptiness is the caller's to report (Required)."""
    errors = is_label_key(text)
    if not errors and "/" not in text:
        return ['must be a domain-prefixed key (such as "acme.io/foo")']
    return errors


def is_domain_prefixed_path(text: str) -> list[str]:
    """Emptiness is the caller's to report (Required)."""
    host, _, path = text.partition("/")
    if not host or not path:
        return ['must be a domain-prefixed path (such as "acme.io/foo")']
    errors = is_dns1123_subdomain(host)
    if not _http_path(path):
        errors.append(regex_message("Invalid path", _HTTP_PATH))
    return errors


def is_config_map_key(text: str) -> list[str]:
    """A key of a ConfigMap or Secret."""
    if _config_key(text) and len(text) <= _SUBDOMAIN_LENGTH and text[0] != ".":
        return []  # what nearly every key is
    errors = _length_errors(text, _SUBDOMAIN_LENGTH)
    if not _config_key(text):
        rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(regex_message(rule, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    return errors + _climbing(text)


def is_env_var_name(text: str) -> list[str]:
    errors = []
    if not _env_var(text):
        rule = (
            "a valid environment variable name must consist of alphabetic characters, digits, "
            "'_', '-', or '.', and must not start with a digit"
        )
        errors.append(regex_message(rule, _ENV_VAR, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    return errors + _climbing(text)


def is_relaxed_env_var_name(text: str) -> list[str]:
    """What pods accept: any printable ASCII but '='."""
    if not text:
        return [f"environment variable name {empty_message()}"]
    if not _printable_ascii_but_equals(text):
        return [
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        ]
    return []


def _climbing(text: str) -> list[str]:
    if text in (".", ".."):
        return [f"must not be '{text}'"]
    return ["must not start with '..'"] if text.startswith("..") else []


def is_path_segment_name(text: str) -> list[str]:
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return is_path_segment_prefix(text)


def is_path_segment_prefix(text: str) -> list[str]:
    return [f"may not contain '{banned}'" for banned in ("/", "%") if banned in text]


def is_c_identifier(text: str) -> list[str]:
    if _c_identifier(text):
        return []
    rule = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    return [regex_message(rule, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def is_http_header_name(text: str) -> list[str]:
    if _http_header(text):
        return []
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [regex_message(rule, _HTTP_HEADER, "X-Header-Name")]


def is_condition_reason(text: str) -> list[str]:
    if _reason(text):
        return []
    examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
    return [regex_message(_REASON_TEXT, _REASON, *examples)]


# --- Numbers and ports


def is_in_range(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [range_message(low, high)]


def is_port_number(port: int) -> list[str]:
    return is_in_range(port, 1, 65535)


def is_user_id(number: int) -> list[str]:
    return is_in_range(number, 0, 2**31 - 1)


#: Group numbers have the range of user numbers.
is_group_id = is_user_id


def is_port_name(text: str) -> list[str]:
    errors = _length_errors(text, 15)
    if not _port_name(text):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _letter(text):
        errors.append("must contain at least one letter (a-z)")
    if "--" in text:
        errors.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def is_percent(text: str) -> list[str]:
    if _percent(text):
        return []
    rule = "a valid percent string must be a numeric string followed by an ending '%'"
    return [regex_message(rule, _PERCENT, "1%", "93%")]


def is_decimal_integer(text: str) -> list[str]:
    if not text:
        return [empty_message()]
    return [] if _decimal(text) else ["must be a valid decimal integer in canonical form"]


# --- Names of objects


def _unfinished(name: str, prefix: bool) -> str:
    """A generateName ending in a dash is judged as if its random part were there."""
    return name[:-2] + "a" if prefix and len(name) > 1 and name.endswith("-") else name


def name_is_dns_subdomain(name: str, prefix: bool = False) -> list[str]:
    if not prefix and len(name) <= _SUBDOMAIN_LENGTH and _subdomain(name):
        return []  # what nearly every name is
    return is_dns1123_subdomain(_unfinished(name, prefix))


def name_is_dns_label(name: str, prefix: bool = False) -> list[str]:
    if not prefix and len(name) <= _NAME_LENGTH and _label(name):
        return []
    return is_dns1123_label(_unfinished(name, prefix))


def name_is_dns1035_label(name: str, prefix: bool = False) -> list[str]:
    return is_dns1035_label(_unfinished(name, prefix))


def name_is_path_segment(name: str, prefix: bool = False) -> list[str]:
    return is_path_segment_prefix(name) if prefix else is_path_segment_name(name)


#: No vowels and no characters that look alike: no words arise by accident.
_SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_system_random = SystemRandom()


def generate_name(prefix: str, random: Random = _system_random) -> str:
    """The prefix, cut so that the whole fits a DNS label, and five random characters."""
    kept = prefix[: _NAME_LENGTH - _SUFFIX_LENGTH]
    return kept + "".join(random.choices(_SUFFIX_ALPHABET, k=_SUFFIX_LENGTH))
