"""Conversations with an API server: requests with the answers that a real one gave.

A conversation is a file: what it is about, and steps that are made one after the other.

| of a step | means                                                                                 |
|-----------|---------------------------------------------------------------------------------------|
| `method`, `path`, `headers`, `body` | the request; `${name}` stands for what an earlier step kept |
| `token`   | who asks, if not the admin; "" is nobody                                              |
| `wait`    | seconds before it                                                                     |
| `keep`    | name → path into the answer's body, for later steps                                   |
| `compare` | what of the body counts: all (`body`), the `events` of a watch, the `names` of a list |
| `ignore`  | fields that do not count                                                              |
| `why`     | what it shows                                                                         |
| `answer`  | what was answered, without what differs from run to run                               |

Requests are made by the standard library, so that nothing of ours is between us and the server.
"""

from __future__ import annotations

import difflib
import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, Final

from tests.recordings import CONVERSATIONS
from tests.support.waiting import pass_time_blocking

__all__ = ["Speaker", "differences", "names", "record"]

Step = dict[str, Any]

_PATIENCE_S: Final = 30.0
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_TOKEN: Final = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_GENERATED: Final = re.compile(r"(gen-)[a-z0-9]{5}\b")
#: Versions of Go's JSON show bytes that are no text in one way or the other.
_BYTE: Final = re.compile(r"'\\(?:x|u00)([0-9a-f]{2})'")
#: Where a server's types are registered is shown by a place in its source, which depends on how it was built.
_SCHEME: Final = re.compile(r'in scheme "[\w./@-]+\.go:\d+"')
_AGE: Final = re.compile(r"^(\d+[smhd])+$")
_ADDRESS: Final = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
_NODE_PORT: Final = re.compile(r":3\d{4}/")
_HASH_OR_ADDRESS: Final = re.compile(r"^[\d.:a-fA-F]+$")
#: Texts and addresses that are each server's own.
_OWN: Final = ("description", "serverAddressByClientCIDRs")
_SHOWN: Final = 60


def names() -> list[str]:
    return sorted(file.stem for file in CONVERSATIONS.glob("*.json"))


class Speaker:
    """Makes the requests of one conversation."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        self._kept: dict[str, str] = {}
        # Who a server is does not matter here, and both make their certificates themselves.
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE

    def ask(self, step: Step) -> Step:
        """The answer, as it is recorded."""
        pass_time_blocking(step.get("wait", 0), "the pause that the conversation has here")
        try:
            with urllib.request.urlopen(
                self._request(step), context=self._tls, timeout=_PATIENCE_S
            ) as answer:
                return self._heard(step, answer.status, answer)
        except urllib.error.HTTPError as error:
            with error:
                return self._heard(step, error.code, error)

    def _request(self, step: Step) -> urllib.request.Request:
        headers = {"Accept": "application/json", **step.get("headers", {})}
        body = step.get("body")
        data = None
        if body is not None:
            data = self._filled(body if isinstance(body, str) else json.dumps(body)).encode()
            headers.setdefault("Content-Type", "application/json")
        if token := step.get("token", self._token):
            headers["Authorization"] = f"Bearer {self._filled(token)}"
        url = self._url + self._filled(step["path"])
        return urllib.request.Request(url, method=step["method"], headers=headers, data=data)

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda found: self._kept.get(found[1], found[0]), text)

    def _heard(self, step: Step, code: int, answer: HTTPResponse | urllib.error.HTTPError) -> Step:
        body = _parsed(answer.read().decode(errors="replace"))
        for name, where in step.get("keep", {}).items():
            self._kept[name] = str(_part(body, where))
        heard: Step = {"code": code, "type": answer.headers.get("Content-Type", "").split("; charset")[0]}
        if warnings := answer.headers.get_all("Warning"):
            heard["warnings"] = warnings
        match step.get("compare", "body"):
            case "events":
                heard["body"] = [_event(one) for one in (body if isinstance(body, list) else [body])]
            case "names":
                heard["body"] = sorted(item["metadata"]["name"] for item in body.get("items", []))
            case "body":
                heard["body"] = _lasting(body, ignored=tuple(step.get("ignore", ())))
        return heard


def differences(name: str, url: str, token: str) -> Iterator[str]:
    """Where a server's answers are others than those recorded."""
    speaker = Speaker(url, token)
    for number, step in enumerate(_read(name)["steps"]):
        got = speaker.ask(step)
        if got == step["answer"]:
            continue
        lines = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (step["answer"], got))
        changes = list(difflib.unified_diff(*lines, "recorded", "here", lineterm="", n=1))[2:_SHOWN]
        title = f"{name}[{number}] {step['method']} {step['path']} {step.get('why', '')}"
        yield "\n".join([title.rstrip(), *changes])


def record(name: str, url: str, token: str) -> int:
    """Write a server's answers into a conversation; how many are others than before."""
    conversation, speaker, changed = _read(name), Speaker(url, token), 0
    for step in conversation["steps"]:
        before, step["answer"] = step.get("answer"), speaker.ask(step)
        changed += step["answer"] != before
    _path(name).write_text(json.dumps(conversation, indent=1, ensure_ascii=False) + "\n")
    return changed


def _path(name: str) -> Path:
    return CONVERSATIONS / f"{name}.json"


def _read(name: str) -> Step:
    conversation: Step = json.loads(_path(name).read_text())
    return conversation


def _parsed(text: str) -> Any:
    """A body: JSON, JSON lines, or text."""
    try:
        return json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            return text


def _part(body: Any, where: str) -> Any:
    for name in where.split("."):
        body = body[int(name)] if isinstance(body, list) else body[name]
    return body


def _event(event: Step) -> list[Any]:
    thing = event.get("object", {})
    return [event.get("type"), thing.get("kind"), thing.get("metadata", {}).get("name"), thing.get("code")]


def _lasting(value: Any, field: str = "", ignored: tuple[str, ...] = ()) -> Any:
    """A value with marks in place of what differs from run to run."""
    match value:
        case dict():
            left_out = (*ignored, *_OWN)
            return {
                key: _lasting(one, key, ignored) for key, one in sorted(value.items()) if key not in left_out
            }
        case list():
            return [_lasting(one, field, ignored) for one in value]
        case str():
            return _lasting_text(value, field)
        case int() if field == "nodePort":
            return "<nodePort>"
    return value


def _lasting_text(text: str, field: str) -> str:
    if field in ("resourceVersion", "continue") and text:
        return f"<{field}>"
    if field in ("clusterIP", "clusterIPs", "hash") and _HASH_OR_ADDRESS.match(text):
        return f"<{field}>"
    if field == "cells":
        text = _NODE_PORT.sub(":<nodePort>/", _ADDRESS.sub("<address>", _AGE.sub("<age>", text)))
    text = _SCHEME.sub('in scheme "<place>"', _BYTE.sub(r"'<byte \1>'", text))
    text = _TOKEN.sub("<jwt>", _TIME.sub("<time>", _UUID.sub("<uid>", text)))
    return _GENERATED.sub(r"\1<rand>", text)
