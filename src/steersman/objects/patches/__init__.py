"""Changing objects by patches: `json` (RFC 6902), `merge` (RFC 7386), `strategic` (Kubernetes' own).

Each module has `apply(original, patch, …)`, which returns a new object and changes neither; errors are
in `errors`.
"""
