"""The dashboard as people use it, in a real browser. One browser is shared; each test opens the page anew."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator

import pytest

from steersman.highlander.api import Access, Api
from steersman.highlander.api.events import Events
from steersman.highlander.state import ControllerPhase, WorkloadKind
from tests.support.browser import CHROMIUM, Page, browser
from tests.support.highlander import PretendedTenant, lively, pod_of, pretended_logs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed: scripts/install-servers chromium"),
]

TOKEN = "opensesame"
#: What a value looks like that wants to become part of the page.
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>'


class Scene:
    """A served tenant (and others), and a browser that looks at it."""

    def __init__(self, page: Page, api: Api, *tenants: PretendedTenant) -> None:
        self.page, self.api, self.tenants = page, api, tenants
        self.url = f"http://127.0.0.1:{api.port}/"

    async def open(self, query: str = "") -> None:
        await self.page.open(self.url + query)
        await self.page.until("document.body.dataset.link === 'live' && document.querySelector('.row')")

    async def text(self, selector: str) -> str:
        found: str = await self.page.run(f"document.querySelector({json.dumps(selector)}).innerText")
        return found

    async def shows(self, text: str, selector: str = "body") -> None:
        await self.page.until(
            f"document.querySelector({json.dumps(selector)})?.textContent.includes({json.dumps(text)})"
        )

    async def click(self, selector: str) -> None:
        await self.page.run(f"document.querySelector({json.dumps(selector)}).click()")

    async def give_token(self, token: str = TOKEN) -> None:
        await self.page.until("document.getElementById('token').open")
        await self.page.type(token)
        await self.page.press("Enter", "\r")


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def page(runner: asyncio.Runner) -> Iterator[Page]:
    opened = browser()
    yield runner.run(opened.__aenter__())
    runner.run(opened.__aexit__(None, None, None))


Play = Callable[[Callable[[Scene], Awaitable[None]]], None]


@pytest.fixture
def play(runner: asyncio.Runner, page: Page) -> Play:
    """Plays a scene; the page must have put nothing on its console."""

    async def with_scene(scene: Callable[[Scene], Awaitable[None]]) -> None:
        page.problems.clear()
        api = Api(access=Access(environment={"HIGHLANDER_API_TOKEN": TOKEN}))
        tenants = (lively(), lively("payments", leads=False))
        for tenant in tenants:
            api.add(tenant, pretended_logs)
        await api.start("127.0.0.1", 0)
        try:
            await page.look(1280, 900, dark=False)
            await scene(Scene(page, api, *tenants))
            assert page.problems == []
        finally:
            await page.command("Page.navigate", url="about:blank")
            await api.close()

    return lambda scene: runner.run(with_scene(scene))


def test_it_shows_who_leads_and_follows_changes(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        tenant = scene.tenants[0]
        await scene.open()
        assert await scene.text("#who") == "This controller is the leader"
        assert await scene.text(".facts .big") == "42"
        assert await scene.page.run("document.querySelectorAll('.row').length") == 8
        assert await scene.page.run("document.querySelectorAll('#strip span').length") == 5
        await scene.shows("OOMKilled", ".row[data-key='process/singletons/fx-importer'] .error")
        tenant.show(
            WorkloadKind.PROCESS,
            "newcomer",
            pods=(pod_of(WorkloadKind.PROCESS, "newcomer", "newcomer-pod"),),
        )
        await scene.shows("newcomer-pod", "#pods")
        tenant.board.forget("process/singletons/newcomer")
        await scene.page.until("!document.body.innerText.includes('newcomer')")
        tenant.board.transition("controller-2_aa", "lease expired", 43)
        tenant.board.change(is_leader=False, phase=ControllerPhase.FOLLOWING)
        await scene.shows("controller-2 is the leader", "#who")
        await scene.shows("43", ".facts .big")
        await scene.shows("follower", "#gauge")

    play(scene)


def test_the_gauge_lives(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        scene.tenants[0].margin_s = 12.0
        await scene.open()
        await scene.page.until("parseFloat(document.getElementById('gauge-number').textContent) > 10")
        scene.tenants[0].margin_s = 2.0
        await scene.page.until("parseFloat(document.getElementById('gauge-number').textContent) < 3")
        await scene.page.until("document.getElementById('gauge').classList.contains('bad')")
        scene.tenants[0].margin_s = 0.0
        await scene.shows("follower", "#gauge")

    play(scene)


def test_values_never_become_part_of_the_page(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        tenant = scene.tenants[0]
        pod = pod_of(
            WorkloadKind.PROCESS, HOSTILE, HOSTILE, node=HOSTILE, reason=HOSTILE, containers=(HOSTILE, "b")
        )
        tenant.show(
            WorkloadKind.PROCESS, HOSTILE, last_error=HOSTILE, details={"schedule": HOSTILE}, pods=(pod,)
        )
        tenant.board.transition(HOSTILE, HOSTILE, 43)
        tenant.board.change(
            cluster_name=HOSTILE, storage_error=HOSTILE, storage_healthy=False, config_error=HOSTILE
        )
        await scene.open()
        await scene.shows(HOSTILE, "#pods")
        await scene.shows(HOSTILE, "#banners")
        await scene.page.run(
            "[...document.querySelectorAll('#pods .link-button')].find(b => b.textContent.startsWith('<')).click()"
        )
        await scene.shows(HOSTILE, "#pod")
        assert await scene.page.run("document.querySelectorAll('img, body script').length") == 0
        assert "Highlander" in await scene.page.run("document.title")

    play(scene)


def test_actions_ask_for_the_token_and_keep_it_for_the_tab(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        tenant = scene.tenants[0]
        await scene.open()
        await scene.page.run("sessionStorage.clear()")
        await scene.click(".row[data-key='process/singletons/mail-poller'] [title^='Pause']")
        await scene.shows("Pause mail-poller?", "#act")
        await scene.click("#act-go")
        await scene.give_token()
        await scene.shows("Pause mail-poller: done", "#toasts")
        await scene.shows("paused", ".row[data-key='process/singletons/mail-poller'] .phase")
        await scene.click(".row[data-key='process/singletons/mail-poller'] [title^='Resume']")
        await scene.click("#act-go")
        await scene.shows("Resume mail-poller: done", "#toasts")
        assert tenant.asked == [
            "pause process/singletons/mail-poller",
            "resume process/singletons/mail-poller",
        ]
        assert await scene.page.run("localStorage.length + document.cookie.length") == 0

    play(scene)


def test_a_wrong_token_is_asked_for_again(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        await scene.open()
        await scene.page.run("sessionStorage.clear()")
        await scene.click("#pods .link-button")
        await scene.click("#load-logs")
        await scene.give_token("wrong")
        await scene.shows("the token is wrong", "#token")
        await scene.give_token()
        await scene.shows("epoch=42 line 39 <b>&amp;</b>", "#logs")
        # The browser itself notes an answer 401 on the console.
        assert [one for one in scene.page.problems if "401" not in one] == []
        scene.page.problems.clear()

    play(scene)


def test_it_works_by_keyboard(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        await scene.open()
        await scene.page.run(f"sessionStorage.setItem('highlander-token', '{TOKEN}')")
        await scene.page.press("/", "/")
        await scene.page.type("queue")
        await scene.page.until("document.querySelectorAll('.row').length === 1")
        await scene.page.press("Escape")
        await scene.page.until("document.querySelectorAll('.row').length === 8")
        await scene.page.press("a", "a")
        await scene.page.until("document.getElementById('act').open")
        await scene.page.press("Enter", "\r")
        await scene.shows("Step down?", "#act")
        await scene.page.press("Enter", "\r")
        await scene.shows("No leader", "#who")
        assert scene.tenants[0].asked == ["step-down"]
        nameless = "[...document.querySelectorAll('button')].filter(b => !b.innerText.trim() && !b.ariaLabel && !b.textContent.trim())"
        assert await scene.page.run(f"{nameless}.length") == 0

    play(scene)


def test_tenants_are_switched_between(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        await scene.open()
        await scene.click("#tenants button:nth-child(2)")
        await scene.shows("controller-2 is the leader", "#who")
        assert await scene.page.run("location.search") == "?tenant=payments"
        await scene.page.run("sessionStorage.clear()")
        await scene.click(".row [title^='Restart']")
        await scene.click("#act-go")
        await scene.give_token()
        await scene.shows("this controller is not the leader", "#toasts")
        assert [one for one in scene.page.problems if "409" not in one] == []
        scene.page.problems.clear()

    play(scene)


def test_a_lost_connection_is_seen_and_taken_up_again(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        await scene.open()
        port = scene.api.port
        await scene.api.close()
        await scene.page.until("document.body.dataset.link === 'lost'")
        await scene.shows("Disconnected", "#banners")
        await scene.shows("unknown", "#gauge-number")
        again = Api()
        again.add(lively(leads=False))
        await again.start("127.0.0.1", port)
        try:
            await scene.page.until("document.body.dataset.link === 'live'")
            await scene.shows("controller-2 is the leader", "#who")
        finally:
            await scene.page.command("Page.navigate", url="about:blank")
            await again.close()
        # That nothing listened is noted by the browser itself.
        assert [one for one in scene.page.problems if "ERR_" not in one] == []
        scene.page.problems.clear()

    play(scene)


def test_a_stream_that_stands_still_is_seen_and_goes_on(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(scene: Scene) -> None:
        await scene.open()
        await scene.page.until("document.getElementById('gauge').classList.contains('off') === false")
        with monkeypatch.context() as frozen:
            # The connection stays; nothing comes.
            frozen.setattr(Events, "_write", lambda *_: None)
            await scene.page.until("document.body.dataset.link === 'stale'")
            await scene.shows("No updates since", "#banners")
            await scene.shows("Stale", "#link")
            await scene.shows("unknown", "#gauge-number")
        await scene.page.until("document.body.dataset.link === 'live'")
        await scene.page.until("!document.querySelector('#banners .banner')")
        await scene.page.until("parseFloat(document.getElementById('gauge-number').textContent) > 10")

    play(scene)


def test_a_tenant_without_anything_says_so(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        empty = PretendedTenant("empty", leads=False)
        empty.board.change(leader="", epoch=0)
        scene.api.add(empty)
        await scene.page.open(f"{scene.url}?tenant=empty")
        await scene.shows("No leader", "#who")
        await scene.shows("No workloads yet", "#groups")
        await scene.shows("No pods are running", "#pods")
        await scene.shows("There has been no leader", "#strip")
        shown = "[...document.querySelectorAll('#filters, #search, #timeline details')].some(n => n.checkVisibility())"
        assert await scene.page.run(shown) is False

    play(scene)


def test_tenants_that_come_and_go_are_seen(play: Play) -> None:
    async def scene(scene: Scene) -> None:
        await scene.open("?tenant=payments")
        scene.api.add(lively("newcomer"))
        await scene.shows("newcomer", "#tenants")
        scene.api.remove("newcomer")
        await scene.page.until("!document.getElementById('tenants').innerText.includes('newcomer')")
        scene.api.remove("payments")
        await scene.shows("Tenant payments was removed", "#toasts")
        await scene.shows("This controller is the leader", "#who")
        assert await scene.page.run("location.search") == "?tenant=default"
        # The browser itself notes an answer 404 on the console.
        assert [one for one in scene.page.problems if "404" not in one] == []
        scene.page.problems.clear()

    play(scene)


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_wider_than_the_screen(play: Play, width: int, dark: bool) -> None:
    async def scene(scene: Scene) -> None:
        await scene.page.look(width, 800, dark=dark, phone=width < 500)
        await scene.open()
        assert await scene.page.run("document.documentElement.scrollWidth") <= width
        background = await scene.page.run("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(15, 21, 20)" if dark else "rgb(244, 243, 238)")
        assert await scene.page.run(_CONTRAST) == []

    play(scene)


#: Texts whose colour is less than 4.5 times as light or dark as what they stand on.
_CONTRAST = r"""
(() => {
  const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] > .9) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("main *, header *, nav *, footer *")) {
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
    if (!node.checkVisibility() || node.closest("svg, .hidden, .strip")) continue;
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) poor.push(`${node.className || node.tagName}: ${node.innerText}`);
  }
  return poor;
})()
"""
