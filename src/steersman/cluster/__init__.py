"""A Kubernetes-compatible cluster: start reading at `local`, which puts its parts together."""
