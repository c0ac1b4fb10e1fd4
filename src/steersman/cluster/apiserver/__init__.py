"""The Kubernetes API server: the path of a request, and the folders it passes.

    HTTP request
        │
    server.py              authentication, then in this order:
        │
    pipeline/              path and verb · audit · impersonation · priority and fairness · authorization
        │                    (records: audit/   queues: fairness/)     → a `Call` on a `Resource`
        ├── aggregation/     a group that another API server serves    ┐ both by forwarding/
        ├── subresources/    scale, eviction, binding, exec, proxy, …  ┘ (nodes, pods, services)
        ├── non_resource/    discovery, OpenAPI, health, metrics
        │
        ├── reading/         get, list, watch                          ──────────────┐
        └── verbs/           create, update, patch, apply, delete:                   │
                             body → defaults → managedFields → admission             │
                             → strategy → validation → storage encoding → store      │
        ┌────────────────────────────────────────────────────────────────────────────┘
    responses/             object, list, Table or Status as JSON or YAML
        │
    HTTP response

    resources/             what a verb knows of a resource: its kind, strategy, columns and encoding
    custom/                the same for custom resources, made from their definitions
    bootstrap/             objects that the server creates when it starts
    controllers/           control loops that the server runs itself

Start reading at `server.APIServer.handle`, then `verbs.create`.
"""
