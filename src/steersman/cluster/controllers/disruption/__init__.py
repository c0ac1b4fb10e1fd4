"""The disruption controller: keeps the status of PodDisruptionBudgets (how many pods may be evicted), which
the eviction API reads and decreases.

Start reading at `controller`; `budget` computes the status, `scales` the expected number of pods.
"""
