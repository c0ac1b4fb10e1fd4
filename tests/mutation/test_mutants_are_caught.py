"""Conditions of security-relevant modules are turned round, and some existing test must notice.

A mutant that lives is a missing test: write it. Only when it changes nothing that a client can see, it goes to
`ALLOWED` in guards.py, with the reason. `python -m tests.mutation` tries every mutant of a module.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.mutation.guards import ALLOWED, GUARDS, Guard
from tests.mutation.mutants import mutants, sample
from tests.mutation.trial import Bench

#: Each is a run of pytest. `STEERSMAN_MUTANTS` asks for more of them.
_PER_MODULE = int(os.environ.get("STEERSMAN_MUTANTS", "1"))

#: The first of them waits for all guarding tests to pass once.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("mutation"))
    bench.passes([path for guard in GUARDS for path in guard.paths])
    return bench


@pytest.mark.parametrize("guard", [pytest.param(guard, id=guard.module) for guard in GUARDS])
def test_every_mutant_is_caught(guard: Guard, bench: Bench) -> None:
    tried = [
        mutant
        for mutant in sample(bench.source(guard.module), _PER_MODULE)
        if (guard.module, mutant.name) not in ALLOWED
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        caught = pool.map(lambda mutant: bench.catches(guard.module, mutant.source, guard.paths), tried)
    alive = [
        f"line {mutant.line}: {mutant.name}" for mutant, dead in zip(tried, caught, strict=True) if not dead
    ]
    assert alive == [], f"no test of {', '.join(guard.tests)} fails with these"


def test_what_is_allowed_exists(bench: Bench) -> None:
    guarded = {guard.module for guard in GUARDS}
    assert {module for module, _ in ALLOWED} <= guarded
    names = {(module, mutant.name) for module in guarded for mutant in mutants(bench.source(module))}
    assert ALLOWED.keys() - names == set()
