"""Quantities: spelling and arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.errors import QuantityError
from steersman.objects.quantities import Quantity, canonical


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("00", "0"),
        ("1", "1"),
        ("100m", "100m"),
        ("128Mi", "128Mi"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1024", "1024"),
        ("1024Mi", "1Gi"),
        ("1025Mi", "1025Mi"),
        ("1.5", "1500m"),
        ("0.5Gi", "512Mi"),
        ("0.5Ki", "512"),
        ("0.1", "100m"),
        (".5", "500m"),
        ("-1.5Gi", "-1536Mi"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("1000e3", "1e6"),
        ("1e1000", "10e999"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1e-20", "1e-9"),
        ("1.1Ki", "1126400m"),
        ("3.2Ti", "3518437208883200m"),
        ("9Ei", "9223372036854775807"),
        ("-9Ei", "-9223372036854775807"),
        ("1Ei", "1Ei"),
        ("123456789012345678901", "123456789012345678901"),
        ("100000000000000000000", "100E"),
        # Spellings the server keeps although they are not the shortest.
        ("1.500", "1.500"),
        ("+1", "+1"),
        ("01", "01"),
        # Nothing where digits should be is zero.
        (".", "0"),
        ("Mi", "0"),
        (" 1 ", "1"),
    ],
)
def test_canonical_spelling(text: str, spelled: str) -> None:
    assert canonical(text) == spelled
    assert str(Quantity.parse(text)) == spelled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "quantities must match the regular expression"),
        ("abc", "quantities must match the regular expression"),
        ("1 Mi", "quantities must match the regular expression"),
        ("1.2.3", "quantities must match the regular expression"),
        ("--1", "unable to parse quantity's suffix"),
        ("1mm", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("1ki", "unable to parse quantity's suffix"),
        ("1e99999", "unable to parse quantity's suffix"),
        ("e-20", "unable to parse numeric part of quantity"),
        ("9" * 5000, "unable to parse numeric part of quantity"),
    ],
)
def test_what_is_no_quantity(text: str, message: str) -> None:
    with pytest.raises(QuantityError, match=message):
        canonical(text)


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [("1500m", 2, 1500), ("-1500m", -2, -1500), ("1Ki", 1024, 1024000), ("1u", 1, 1), ("0", 0, 0)],
)
def test_values_round_away_from_zero(text: str, value: int, milli: int) -> None:
    quantity = Quantity.parse(text)
    assert quantity.value == value
    assert quantity.milli_value == milli


def test_sum_keeps_the_format_of_the_left_side_unless_it_is_zero() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("1G")) == "2073741824"
    assert str(Quantity.parse("1Gi") + Quantity.parse("1Gi")) == "2Gi"
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"
    assert str(Quantity.parse("1") - Quantity.parse("100m")) == "900m"
    assert str(Quantity.parse("100m") * 3) == "300m"


def test_equal_amounts_are_equal_however_spelled() -> None:
    assert Quantity.parse("1Ki") == Quantity.parse("1024")
    assert hash(Quantity.parse("1k")) == hash(Quantity.parse("1000"))
    assert Quantity.parse("1") < Quantity.parse("1001m") <= Quantity.parse("2")
    assert Quantity.parse("1") != "1"
    assert not Quantity.parse("0")
    assert Quantity.parse("-1").sign == -1
    assert str(Quantity.parse("1234m").rounded_up(0)) == "2"
    assert Quantity.parse("1234").rounded_up(0).value == 1234


amounts = st.builds(
    lambda number, suffix: f"{number}{suffix}",
    st.one_of(
        st.integers(-(10**14), 10**14).map(str),
        st.decimals(-(10**6), 10**6, allow_nan=False, places=3).map(lambda number: format(number, "f")),
    ),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3"]),
)


@given(amounts, amounts)
def test_arithmetic_is_exact(left: str, right: str) -> None:
    a, b = Quantity.parse(left), Quantity.parse(right)
    assert (a + b).as_fraction() == a.as_fraction() + b.as_fraction()
    assert (a - b).as_fraction() == a.as_fraction() - b.as_fraction()
    assert (a < b) is (a.as_fraction() < b.as_fraction())
    assert (a == b) is (a.as_fraction() == b.as_fraction())


@given(amounts)
def test_canonical_spelling_means_the_same_and_is_stable(text: str) -> None:
    quantity = Quantity.parse(text)
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert str(again) == str(quantity)


@given(st.integers(-(10**12), 10**12), st.integers(-9, 9))
def test_scaled_value_is_the_ceiling_away_from_zero(number: int, scale: int) -> None:
    exact = Fraction(number) / Fraction(10) ** scale
    scaled = Quantity(number).scaled(scale)
    assert abs(exact) <= abs(scaled) < abs(exact) + 1
    assert scaled * number >= 0
