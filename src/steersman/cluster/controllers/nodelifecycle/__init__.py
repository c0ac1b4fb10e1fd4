"""The node lifecycle controller: heartbeats, node conditions, NoSchedule and NoExecute taints, eviction rate
limits by zone.

Start reading at `controller`; `health` decides which nodes missed their heartbeats, `zones` how fast nodes
may be tainted.
"""
