"""A real browser: Debian's Chromium without a screen, driven over the DevTools protocol by our own WebSocket."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from steersman.aio import Scope
from steersman.http import Client, WebSocket
from steersman.http.errors import WebSocketError
from tests.support.waiting import until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""

_PATIENCE_S = 30.0
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-port=0",
)  # fmt: skip


class Page:
    """One tab."""

    def __init__(self, socket: WebSocket, scope: Scope) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.problems: list[str] = []
        """Errors and warnings that the page put on its console, and exceptions nobody caught."""
        scope.start(self._listen())

    async def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        await self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        async with asyncio.timeout(_PATIENCE_S):
            said = await answer
        assert "error" not in said, f"{method}: {said['error']}"
        result: dict[str, Any] = said["result"]
        return result

    async def run(self, script: str) -> Any:
        """What an expression (or the promise it makes) comes to."""
        said = await self.command(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    async def until(self, script: str) -> None:
        """Wait until an expression is true; the deadline is for the test's sake only."""
        try:
            await until(lambda: self.run(f"Boolean({script})"), _PATIENCE_S, every_s=0.05)
        except AssertionError:
            text = await self.run("document.body.innerText")
            told = "".join(f"\nconsole: {problem}" for problem in self.problems)
            raise AssertionError(f"{script} did not become true; the page says:\n{text}{told}") from None

    async def open(self, url: str) -> None:
        await self.command("Page.navigate", url=url)
        await self.until(f"location.href.startsWith({json.dumps(url)}) && document.readyState === 'complete'")

    async def look(self, width: int, height: int, *, dark: bool, phone: bool = False) -> None:
        """How large the screen is, and what its owner prefers."""
        await self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        await self.command(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    async def press(self, key: str, text: str = "") -> None:
        """A key on the keyboard, by its DOM name."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        virtual = codes.get(key, ord(key.upper()[0]))
        typed = {"text": text} if text else {}
        common = {"key": key, "windowsVirtualKeyCode": virtual}
        await self.command("Input.dispatchKeyEvent", type="keyDown", **common, **typed)
        await self.command("Input.dispatchKeyEvent", type="keyUp", **common)

    async def type(self, text: str) -> None:
        await self.command("Input.insertText", text=text)

    async def picture(self, path: Path, *, whole: bool = False) -> None:
        taken = await self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    async def _listen(self) -> None:
        with suppress(WebSocketError):
            async for message in self._socket:
                said = json.loads(message)
                if "id" in said:
                    self._waiting.pop(said["id"]).set_result(said)
                else:
                    self._heard(said["method"], said["params"])

    def _heard(self, method: str, said: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")


@asynccontextmanager
async def browser() -> AsyncIterator[Page]:
    """A browser of its own with an empty profile, and its tab."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            port = await _port(Path(profile, "DevToolsActivePort"), process)
            async with Client(f"http://127.0.0.1:{port}") as client, Scope() as scope:
                tabs = json.loads((await client.request("GET", "/json")).content)
                target = next(tab for tab in tabs if tab["type"] == "page")["webSocketDebuggerUrl"]
                path = "/" + target.split("/", 3)[3]
                socket = await client.websocket(path, max_message_bytes=64 << 20)
                page = Page(socket, scope)
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await page.command(f"{domain}.enable")
                yield page
                socket.hang_up()
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def _port(told: Path, process: subprocess.Popen[bytes]) -> int:
    def port() -> int:
        assert process.poll() is None, "chromium has ended"
        with suppress(OSError, ValueError, IndexError):
            return int(told.read_text().splitlines()[0])
        return 0

    return int(await until(port, _PATIENCE_S, "chromium's port", every_s=0.05))
