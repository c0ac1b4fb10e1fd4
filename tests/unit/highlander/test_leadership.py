"""The states of a controller between two contests: each step leads where the table says, and nowhere else."""

from __future__ import annotations

import asyncio

import pytest

from steersman.highlander.leadership import LeadershipState, Step, Steps

S = LeadershipState
#: To each state, from the beginning.
WAYS = {
    S.RESTING: (),
    S.CONTENDING: (Step.CONTEND,),
    S.LEADING: (Step.CONTEND, Step.LEAD),
    S.LETTING_GO: (Step.CONTEND, Step.LET_GO),
    S.GIVING_UP: (Step.CONTEND, Step.LEAD, Step.GIVE_UP),
}
NEXT = {
    (S.RESTING, Step.CONTEND): S.CONTENDING,
    (S.CONTENDING, Step.LEAD): S.LEADING,
    (S.CONTENDING, Step.LET_GO): S.LETTING_GO,
    (S.CONTENDING, Step.END): S.RESTING,
    (S.LEADING, Step.LOSE): S.CONTENDING,
    (S.LEADING, Step.LET_GO): S.LETTING_GO,
    (S.LEADING, Step.GIVE_UP): S.GIVING_UP,
    (S.LEADING, Step.END): S.RESTING,
    (S.LETTING_GO, Step.GIVE_UP): S.GIVING_UP,
    (S.LETTING_GO, Step.END): S.RESTING,
    (S.GIVING_UP, Step.END): S.RESTING,
}


def at(state: LeadershipState) -> Steps:
    steps = Steps()
    for step in WAYS[state]:
        steps.take(step)
    assert steps.state is state
    return steps


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("state", S)
def test_a_step_leads_where_the_table_says_or_changes_nothing(state: LeadershipState, step: Step) -> None:
    steps = at(state)
    steps.take(step)
    assert steps.state is NEXT.get((state, step), state)


@pytest.mark.parametrize("state", S)
def test_a_contest_is_under_way_in_all_states_but_resting(state: LeadershipState) -> None:
    assert at(state).contends == (state is not S.RESTING)
    assert at(state).ends == (state in (S.LETTING_GO, S.GIVING_UP))


@pytest.mark.parametrize("step", [Step.LET_GO, Step.GIVE_UP])
def test_who_waits_for_the_end_of_leadership_is_woken_by_both_ways(step: Step) -> None:
    async def main() -> None:
        steps = at(S.LEADING)
        waiting = asyncio.ensure_future(steps.until_letting_go())
        await asyncio.sleep(0)
        assert not waiting.done()
        steps.take(step)
        await asyncio.wait_for(waiting, 5)

    asyncio.run(main())


def test_who_waits_for_giving_up_is_not_woken_by_letting_go() -> None:
    async def main() -> None:
        steps = at(S.LEADING)
        waiting = asyncio.ensure_future(steps.until_giving_up())
        steps.take(Step.LET_GO)
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiting.done()
        steps.take(Step.GIVE_UP)
        await asyncio.wait_for(waiting, 5)

    asyncio.run(main())


def test_who_waits_for_what_is_so_already_does_not_wait() -> None:
    async def main() -> None:
        await asyncio.wait_for(at(S.LETTING_GO).until_letting_go(), 5)

    asyncio.run(main())
