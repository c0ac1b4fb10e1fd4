"""The DaemonSet controller: runs one pod on every eligible node.

Start reading at `controller`; its decisions are in `placement` (the eligible nodes) and `rollout` (the pods
to create and delete).
"""
