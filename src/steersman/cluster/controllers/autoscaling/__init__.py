"""The HorizontalPodAutoscaler controller: sets the replica count of a workload from metrics.

Start reading at `controller` (one reconcile), then `proposals` (the replica count each metric proposes),
`replica_count` (the arithmetic) and `limits` (stabilization and scaling policies). The interface to metrics
is `metrics_source`, next to this package; `api_metrics` reads the metrics APIs.
"""
