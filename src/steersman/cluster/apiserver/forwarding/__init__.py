"""Requests forwarded to other servers: aggregated API servers, nodes, and what `proxy` paths lead to."""
