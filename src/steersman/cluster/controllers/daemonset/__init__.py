"""DaemonSets: a pod on every node that fits.

Start reading at `controller`; what it decides is in `placement` (which nodes) and `rollout` (which pods come
and go).
"""
