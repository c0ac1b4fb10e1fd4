"""kubectl as tests run it: by arguments, against a kubeconfig, its output returned."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from steersman.testing.errors import KubectlFailed

__all__ = ["run_kubectl"]


async def run_kubectl(
    kubeconfig: Path, *arguments: str, stdin: str | None = None, timeout_s: float = 60.0
) -> str:
    """What kubectl prints. Raises `KubectlFailed`, and FileNotFoundError if there is no kubectl."""
    program = shutil.which("kubectl")
    if program is None:
        raise FileNotFoundError("kubectl is not on the PATH")
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
    )
    try:
        async with asyncio.timeout(timeout_s):
            out, err = await process.communicate(stdin.encode() if stdin is not None else None)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise KubectlFailed(arguments, process.returncode, err.decode(errors="replace"))
    return out.decode(errors="replace")
