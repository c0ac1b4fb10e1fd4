"""What a real kube-apiserver answered: conversations, its bytes on the wire, and facts read off it.

`README.md` says what is there, `python -m tests.recordings` takes it anew. Tests read it by the paths below.
"""

from pathlib import Path
from typing import Final

__all__ = ["CONVERSATIONS", "FACTS", "WIRE"]

_HERE: Final = Path(__file__).parent

CONVERSATIONS: Final = _HERE / "conversations"
WIRE: Final = _HERE / "wire"
FACTS: Final = _HERE / "facts"
