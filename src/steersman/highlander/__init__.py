"""Highlander: workloads of which there is one copy at any moment, whatever happens to who starts them.

Start reading at `tenant` (the life of a lock and its workloads), then `workloads` (what they become),
`config` (what people write), `state` (what is shown).
"""

from __future__ import annotations
