"""Who is it, and may they? `authentication` and its kinds of credentials, `authorization` and its kinds of
rules (`rbac`, `nodes`), and the cluster's certificates (`pki`)."""
