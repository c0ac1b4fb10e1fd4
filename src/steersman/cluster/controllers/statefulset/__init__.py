"""The StatefulSet controller: pods with stable names and claims, in order.

Start reading at `controller`; its decisions are in `plan` (the next steps), `identity` (name, labels and
volumes of a pod), `volume_claims` (the owners of its claims) and `status`.
"""
