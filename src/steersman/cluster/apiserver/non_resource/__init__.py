"""Paths that are no resources (non-resource URLs): discovery, OpenAPI, health checks, metrics."""
