"""Kubernetes' functions: what they yield, and in which words they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.cel import CompileError, EvaluationError
from tests.unit.cluster.cel.expressions import compiled, evaluate

TRUE = [
    # strings
    "'tacocat'.charAt(3) == 'o' && 'a'.charAt(1) == ''",
    "'hello mellow'.indexOf('ello') == 1 && 'hello mellow'.indexOf('ello', 2) == 7 && 'a'.indexOf('b') == -1",
    "'hello mellow'.lastIndexOf('ello') == 7 && 'hello mellow'.lastIndexOf('ello', 6) == 1",
    "['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b' && [].join() == ''",
    "'TacoCÆt'.lowerAscii() == 'tacocÆt' && 'tacoÆé'.upperAscii() == 'TACOÆé'",
    "'hello hello'.replace('he', 'we') == 'wello wello' && 'hello hello'.replace('he', 'we', 1) == 'wello hello'",
    "'a b'.split(' ') == ['a', 'b'] && 'abc'.split('') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
    "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco'",
    "'  \\ttrim\\n '.trim() == 'trim' && strings.quote('a\"b\\n') == '\"a\\\\\"b\\\\n\"'",
    "'%s %d %s %b %x %X %o'.format(['a', 1, [1, 'b'], 5, 255, 255, 8]) == 'a 1 [1, \"b\"] 101 ff FF 10'",
    "'%.2f %f'.format([1.5, 1234.5]) == '1.50 1,234.500000'",
    "'%s'.format([{'b': 1, 'a': [true, null]}]) == '{\"a\":[true, null], \"b\":1}'",
    # lists
    "[1, 2, 2].isSorted() && ![2, 1].isSorted() && ['a', 'b'].isSorted()",
    "[1, 2].sum() == 3 && [1.5, 2.0].sum() == 3.5 && [duration('1m'), duration('1s')].sum() == duration('61s')",
    "[3, 1].min() == 1 && ['a', 'b'].max() == 'b' && [1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2",
    "[[1], [2, 3]].flatten() == [1, 2, 3]",
    "[dyn(1), dyn([dyn(2), dyn([3])])].flatten(2) == [1, 2, 3] && [1, 2, 2, 1].distinct() == [1, 2]",
    "[3, 1, 2].sort() == [1, 2, 3] && [1, 2, 3].slice(1, 3) == [2, 3] && [1, 2].reverse() == [2, 1]",
    "lists.range(3) == [0, 1, 2] && ['bb', 'a'].sortBy(e, size(e)) == ['a', 'bb'] && [1, 2].includes(2)",
    "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && !dyn([]).first().hasValue()",
    "sets.contains([1, 2, 3], [2, 3]) && sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])",
    # regular expressions
    "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]') == '' && '123 abc 456'.findAll('[0-9]+') == ['123', '456']",
    "'123 abc 456'.findAll('[0-9]+', 1) == ['123'] && '123'.findAll('xyz') == []",
    # quantities
    "isQuantity('1.3Gi') && isQuantity('1e3') && !isQuantity('10a') && !isQuantity(' 1')",
    "quantity('200M').isGreaterThan(quantity('0.1G')) && quantity('50M').isLessThan(quantity('50Mi'))",
    "quantity('1000k') == quantity('1M') && quantity('50k').add(20) == quantity('50020') && quantity('50k').compareTo(quantity('50k')) == 0",
    "quantity('50k').sub(quantity('51k')) == quantity('-1k') && sign(quantity('-1')) == -1 && quantity('50k').asInteger() == 50000",
    "quantity('1').isInteger() && !quantity('0.5').isInteger() && quantity('1.5').asApproximateFloat() == 1.5",
    # networks
    "isIP('192.168.0.1') && isIP('::1') && !isIP('192.168.0.1.0') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
    "ip('192.168.0.1').family() == 4 && ip('::1').family() == 6 && ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()",
    "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD') && string(ip('1.2.3.4')) == '1.2.3.4'",
    "ip('224.0.0.1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast() && ip('10.0.0.1').isGlobalUnicast()",
    "!ip('255.255.255.255').isGlobalUnicast() && ip('ff02::1').isLinkLocalMulticast() && ip('1.2.3.4') != ip('1.2.3.5')",
    "isCIDR('192.168.0.0/16') && !isCIDR('192.168.0.0/33') && !isCIDR('192.168.0.0') && !isCIDR('::ffff:1.2.3.4/24')",
    "cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
    "cidr('192.168.0.0/16').containsCIDR('192.168.1.0/24') && !cidr('192.168.1.0/24').containsCIDR(cidr('192.168.0.0/16'))",
    "cidr('192.168.1.5/24').masked() == cidr('192.168.1.0/24') && cidr('::1/128').prefixLength() == 128",
    "cidr('192.168.1.5/24').ip() == ip('192.168.1.5') && string(cidr('1.2.3.0/24')) == '1.2.3.0/24' && type(ip('::1')) == net.IP",
    # URLs
    "isURL('https://example.com:80/path') && isURL('/path') && !isURL('example.com') && !isURL('')",
    "url('https://user@example.com:8080/a b?x=1&x=2&y=%20').getHost() == 'example.com:8080'",
    "url('https://[::1]:80/').getHostname() == '::1' && url('https://[::1]:80/').getPort() == '80' && url('/x').getScheme() == ''",
    "url('https://e.com/with space/').getEscapedPath() == '/with%20space/'",
    "url('https://e.com/?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
    # versions
    "isSemver('1.0.0-alpha.1+build') && !isSemver('v1.0') && isSemver('v1.0', true) && !isSemver('01.0.0')",
    "semver('1.0.0').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
    "semver('v01.2', true).minor() == 2 && semver('1.2.3').patch() == 3 && semver('1.0.0').compareTo(semver('1.0.0+b')) == 0",
    "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10')) && semver('2.0.0').major() == 2",
    # formats
    "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My').hasValue()",
    "format.named('uuid').hasValue() && !format.named('nope').hasValue()",
    "!format.uri().validate('http://a/').hasValue() && format.date().validate('2020-13-01').value() == ['invalid date']",
    "format.byte().validate('aGVsbG8').value() == ['invalid base64'] && !format.datetime().validate('2020-01-01T00:00:00Z').hasValue()",
    "!format.dns1123LabelPrefix().validate('name-').hasValue() && format.labelValue().validate('a b').value().size() == 1",
]  # fmt: skip


@pytest.mark.parametrize("expression", TRUE)
def test_holds(expression: str) -> None:
    assert evaluate(expression) is True


REFUSED = [
    ("quantity('10 Mo')", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("quantity('0.5').asInteger()", "cannot convert value to integer"),
    ("ip('1.2.3')", 'IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short'),
    ("ip('2001:db8:::68')", 'IP Address "2001:db8:::68" parse error during conversion from string: ParseAddr("2001:db8:::68"): '
     'each colon-separated field must have at least one digit (at ":68")'),
    ("ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'),
    ("ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ("cidr('1.2.3.4')", "network address parse error during conversion from string: "
     'network address parse error during conversion from string: netip.ParsePrefix("1.2.3.4"): no \'/\''),
    ("url('example.com')", 'URL parse error during conversion from string: parse "example.com": invalid URI for request'),
    ("semver('1.0')", "No Major.Minor.Patch elements found"),
    ("semver('01.0.0')", 'Major number must not contain leading zeroes "01"'),
    ("dyn([]).min()", "min called on empty list"),
    ("'abc'.find(x)", "Illegal regex: error parsing regexp: missing closing ]: `[`"),
    ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
    ("'abc'.charAt(4)", "index out of range: 4"),
    ("[1].slice(0, 2)", "cannot slice(0, 2), list is length 1"),
    ("lists.range(-1)", "lists.range: size must be non-negative, got -1"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "message"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refuses(expression: str, message: str) -> None:
    values: dict[str, Any] = {"x": "["}
    with pytest.raises(EvaluationError) as caught:
        evaluate(expression, **values)
    assert str(caught.value) == message


def test_strings_cannot_be_reversed_in_the_version_kubernetes_has() -> None:
    with pytest.raises(
        CompileError, match=r"found no matching overload for 'reverse' applied to 'string.\(\)'"
    ):
        compiled("'abc'.reverse()")
