"""Deployments: one ReplicaSet for each template, and the way from one to the next.

Start reading at `controller`; what it decides is in `sizes` (how many pods each ReplicaSet may have),
`revisions` (which ReplicaSet is which) and `progress` (what the status says).
"""
