import json, asyncio, logging
from steersman.testing import virtual_time, eventually
from tests.integration.highlander.worlds import *
from tests.integration.highlander.test_tenant import simulated, process
@virtual_time
async def test_x():
    async with world() as here:
        fails = process(annotations=simulated(run_time="1s", exit_code="3"), maxRestarts=2)
        c = here.start(config(workloads={"processes": [fails, process("other")]}))
        last = None
        for i in range(2000):
            await asyncio.sleep(0.02)
            w = c.tenant.board.workloads.get("process/default/beat")
            now = (w and (str(w.phase), w.restarts, [p.phase for p in w.pods], w.last_error))
            if now != last: print(round(i*0.02,2), now)
            last = now
