import json, asyncio, logging, pytest
from steersman.testing import virtual_time, eventually
from tests.integration.highlander.worlds import *
from tests.integration.highlander.test_tenant import simulated, process
@pytest.mark.parametrize("code", ["0", "3"])
@pytest.mark.parametrize("restart", ["Never", "OnFailure"])
@pytest.mark.parametrize("two", [0, 1])
def test_x(code, two, restart):
  @virtual_time
  async def run():
    async with world() as here:
        fails = process(annotations=simulated(run_time="1s", exit_code=code), maxRestarts=2, restartPolicy=restart)
        c = here.start(config(workloads={"processes": [fails] + [process("other")]*two}))
        await asyncio.sleep(40)
        p = await here.pod()
        print(code, two, restart, c.phase(), p and p["spec"].get("nodeName"), p and json.dumps(p["status"].get("containerStatuses"))[:300])
  run()
