"""Highlander: workloads of which there is one copy at any moment, whatever happens to those who start them.

Start reading at `tenant` (the life of one lock and its workloads), then `workloads` (what a workload becomes),
`config` (what people write), `state` (what is shown).
"""

from __future__ import annotations
