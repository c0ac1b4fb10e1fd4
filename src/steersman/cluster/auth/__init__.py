"""Authentication and authorization: `authentication` and its kinds of credentials, `authorization` and its
authorizers (`rbac`, `nodes`), and the cluster's certificates (`pki`).
"""
