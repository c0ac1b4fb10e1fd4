"""Takes the pictures of Highlander's dashboard that the docs show, of a pretended tenant, in Chromium.

    python scripts/highlander_screenshots.py [FOLDER]

They go to docs/images unless a folder is given.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))

from steersman.highlander.api import Access, Api  # noqa: E402
from steersman.highlander.state import PodView  # noqa: E402
from tests.support.browser import Page, browser  # noqa: E402
from tests.support.highlander import PretendedTenant, lively  # noqa: E402

_TOKEN = "opensesame"  # noqa: S105 - of a tenant that is none
_LIVE = "document.body.dataset.link === 'live' && document.querySelector('.row')"


async def _logs(pod: PodView, container: str, lines: int) -> str:
    entries = (
        f"2026-11-16T14:{i // 2:02}:{i % 2 * 30:02}Z INFO  posted batch {4200 + i} (epoch {pod.epoch})\n"
        for i in range(min(lines, 40))
    )
    return "".join(entries)


async def _desktop(page: Page, url: str, folder: Path, name: str, *, dark: bool) -> None:
    await page.look(1120, 880, dark=dark)
    await page.open(url)
    await page.until(_LIVE)
    await _settle(page)
    await page.picture(folder / f"highlander-{name}.png")


async def _settle(page: Page) -> None:
    """Until nothing moves and the fonts are there."""
    await page.run("document.fonts.ready.then(() => null)")
    await page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(null), 1200)))")


async def take(folder: Path) -> None:
    api = Api(access=Access(environment={"HIGHLANDER_API_TOKEN": _TOKEN}))
    tenants: list[PretendedTenant] = [lively(), lively("payments", leads=False), lively("reporting")]
    for tenant in tenants:
        api.add(tenant, _logs)
        tenant.margin_s = 8.6
    await api.start("127.0.0.1", 0)
    url = f"http://127.0.0.1:{api.port}/"
    async with browser() as page:
        await _desktop(page, url, folder, "light", dark=False)
        await _desktop(page, url, folder, "dark", dark=True)
        await page.look(390, 844, dark=False, phone=True)
        await page.open(url)
        await page.until(_LIVE)
        await _settle(page)
        await page.picture(folder / "highlander-phone.png")
        await page.look(900, 600, dark=False)
        await page.open(url)
        await page.until(_LIVE)
        await page.run(f"sessionStorage.setItem('highlander-token', '{_TOKEN}')")
        await page.run("document.querySelector('#pods .link-button').click()")
        await page.until("document.getElementById('logs').textContent.includes('posted')")
        await _settle(page)
        await page.picture(folder / "highlander-pod.png")
        await page.command("Page.navigate", url="about:blank")
    await api.close()


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(folder))
    for file in sorted(folder.glob("highlander-*.png")):
        print(f"{file}: {file.stat().st_size >> 10} kB")


if __name__ == "__main__":
    main()
