"""The Deployment controller: one ReplicaSet per pod template, and the rollout from one to the next.

Start reading at `controller`; its decisions are in `sizes` (the replicas of each ReplicaSet), `revisions`
(the new and the old ReplicaSets) and `progress` (the status and its Progressing condition).
"""
