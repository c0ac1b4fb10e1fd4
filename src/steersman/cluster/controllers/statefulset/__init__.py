"""StatefulSets: pods with names, storage and an order.

Start reading at `controller`; what it decides is in `plan` (what to do next), `identity` (what a pod of the
set is), `volume_claims` (whose its storage is) and `status`.
"""
