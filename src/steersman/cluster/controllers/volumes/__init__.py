"""Persistent volumes: which claim gets which volume, what becomes of volumes that nobody claims any more, and
volumes made of directories of this machine.

Start reading at `binder`, then `claim_sync` and `volume_sync`; `matching` says which volume suits a claim.
"""
