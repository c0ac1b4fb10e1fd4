"""Persistent volume controllers: binding claims to volumes, reclaim policies, attaching, ephemeral volumes,
and a provisioner of local directories.

Start reading at `binder`, then `claim_sync` and `volume_sync`; `objects.volume_claims` finds the best volume
for a claim.
"""
