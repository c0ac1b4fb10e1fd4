"""The service proxy (kube-proxy): listens at the addresses of Services and forwards to their endpoints.

Start reading at `setup` (what is followed and when it is applied), then `routing` (which address leads where,
a pure function). Connections are carried by a process of its own: `process` starts and feeds it, `forwarder`
is what runs in it, on the standard library alone, with `relay` for TCP and `datagrams` for UDP. `host_ports`
does for ports of pods at their nodes' addresses what `setup` does for services.

This package imports nothing by itself, so that the forwarder's process stays small.
"""
