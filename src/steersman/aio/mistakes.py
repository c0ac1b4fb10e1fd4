"""Which errors show a mistake in the program, so that their place in it is worth telling.

Whatever this project raises on purpose is of a class of its own and says in a sentence what is wrong; what
the operating system refuses says so, too. Everything else was not foreseen.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["is_mistake", "single_errors"]

_OWN = "steersman."


def is_mistake(error: BaseException) -> bool:
    return any(
        not (isinstance(each, (OSError, MemoryError)) or type(each).__module__.startswith(_OWN))
        for each in single_errors(error)
    )


def single_errors(error: BaseException) -> Iterator[BaseException]:
    """The error, or those that a group consists of."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from single_errors(each)
    else:
        yield error
