"""`steer demo`: what it makes where its user may do less than root."""

from __future__ import annotations

import pytest

from steersman.cli.demo import webapp


@pytest.mark.parametrize(("may", "port"), [(True, 80), (False, 8080)], ids=["root", "normal user"])
def test_the_app_is_where_its_user_may_listen(may: bool, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webapp, "may_listen", lambda _: may)
    assert webapp.service_port() == port
