"""`make record`, or `python -m tests.recordings`: take the recordings anew from the original programs.

    python -m tests.recordings                       everything
    python -m tests.recordings conversations apply   one conversation; wire, facts likewise
    python -m tests.recordings check URL TOKEN       compare a server's answers with the recorded ones

Needs what `make originals` installs. See `git diff` for what has changed; a new version of Kubernetes is named
by `python -m tests.originals --bump kubernetes VERSION`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.originals.programs import NOT_INSTALLED, installed
from tests.originals.servers import original_cluster
from tests.recordings import conversation, facts, wire

_ALL = ("conversations", "wire", "facts")
_SERVICES = "10.0.0.0/24"
#: As the recorded server was started: nobody but the one who asks.
_ALONE = ("--disable-admission-plugins=ServiceAccount",)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.recordings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", choices=(*_ALL, "check", "all"), default="all")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    if options.what == "check":
        return _check(*options.names)
    if not installed("kube-apiserver", "etcd"):
        print(NOT_INSTALLED, file=sys.stderr)
        return 1
    wanted = _ALL if options.what == "all" else (options.what,)
    if "conversations" in wanted:
        _record_conversations(options.names or conversation.names())
    if "wire" in wanted:
        with original_cluster() as server:
            wire.record(server)
        print(f"wire: {len(wire.CONNECTIONS)} connections")
    if "facts" in wanted:
        return _record_facts()
    return 0


def _check(url: str, token: str) -> int:
    found = [each for name in conversation.names() for each in conversation.differences(name, url, token)]
    print(*found, sep="\n\n")
    return 1 if found else 0


def _record_conversations(names: Sequence[str]) -> None:
    # All of one server, as they are replayed.
    with original_cluster(services=_SERVICES, options=_ALONE) as server:
        for name in names:
            changed = conversation.record(name, server.url, server.token)
            print(f"conversations/{name}: {changed} answers are others than before", flush=True)


def _record_facts() -> int:
    with original_cluster() as server:
        facts.record(server)
    facts.record_protobuf()
    new = facts.new_promises()
    print("facts: resources, columns, roles, protobuf")
    for name in new:
        print(f"a new promise, to be put into a file of facts/promises by hand: {name}", file=sys.stderr)
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
