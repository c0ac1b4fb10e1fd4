"""`python -m tests.originals [NAME …]` (`make originals`): install the original programs, or some of them.

    python -m tests.originals                          all of them: 15 minutes and 8 GB once, on two cores
    python -m tests.originals etcd kube-apiserver      some
    python -m tests.originals --list                   what is installed, and where
    python -m tests.originals --bump kubernetes 1.37.2 name another version; then install it

What is installed already stays; after an interruption it goes on with the program it was at, and the compilers'
own caches keep the parts. What a registry sends is compared with the checksums in go.sum and Cargo.lock by the
package client.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.originals.installing import Failed, bump, install
from tests.originals.programs import ABSENT, ORIGINS, Origin, Program, cache_folder


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        if options.list:
            _list()
        elif options.bump:
            name, version = options.bump
            bump(_named(name), version.removeprefix("v"))
        else:
            return install(_chosen(options.names))
    except Failed as error:
        print(f"originals: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("originals: interrupted; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.originals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of an origin or a program [all]")
    parser.add_argument("--list", action="store_true", help="what is installed, and where")
    parser.add_argument("--bump", nargs=2, metavar=("ORIGIN", "VERSION"), help="name another version")
    return parser


def _named(name: str) -> Origin:
    for origin in ORIGINS:
        if origin.name == name:
            return origin
    raise Failed(f"there is no origin {name!r}; there are {', '.join(each.name for each in ORIGINS)}")


def _chosen(names: Sequence[str]) -> list[tuple[Origin, Program]]:
    """In the order of the table, whatever order they are asked for in."""
    pairs = [(origin, program) for origin in ORIGINS for program in origin.programs]
    if unknown := set(names) - {name for origin, program in pairs for name in (origin.name, program.name)}:
        raise Failed(f"there is no origin or program {', '.join(sorted(unknown))} (see --list)")
    return [pair for pair in pairs if not names or pair[0].name in names or pair[1].name in names]


def _list() -> None:
    print(cache_folder())
    for origin in ORIGINS:
        print(f"{origin.name} {origin.version}")
        for program in origin.programs:
            there = (origin.installed_in / program.name).exists()
            print(f"  {'installed' if there else '-':10} {program.name}")
    for name, why in ABSENT.items():
        print(f"{name}: not to be had, {why}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
