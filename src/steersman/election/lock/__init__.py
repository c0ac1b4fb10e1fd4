"""What locks in a store have in common: the contender and what is declared of them."""

from __future__ import annotations
