"""PodDisruptionBudgets: how many pods may be evicted right now. The API server's eviction takes from it.

Start reading at `controller`; what it decides is in `budget`, how many pods there should be in `scales`.
"""
