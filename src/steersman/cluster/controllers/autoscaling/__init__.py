"""HorizontalPodAutoscalers: how many pods a workload has, by what they are measured to do.

Start reading at `controller` (one look at an autoscaler), then `proposals` (what each metric asks for),
`replica_count` (the arithmetic) and `limits` (how fast the size may change). Where metrics come from is
`metrics_source`, next to this package; `api_metrics` asks the metrics APIs.
"""
