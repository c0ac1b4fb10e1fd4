"""One contender of an election by the official client: says when it leads and when it no longer does.

Started by test_leader_election.py: `contender.py KIND NAME NAMESPACE IDENTITY`.
"""

# The clients' own types say less than their documentation, or nothing.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import sys
import threading

from kubernetes import config
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

LOCKS = {"lease": LeaseLock, "configmap": ConfigMapLock}


def lead() -> None:
    print("leads", flush=True)
    threading.Event().wait()


def main(kind: str, name: str, namespace: str, identity: str) -> None:
    config.load_kube_config()
    settings = electionconfig.Config(
        LOCKS[kind](name, namespace, identity),
        lease_duration=2,
        renew_deadline=1.5,
        retry_period=1,
        onstarted_leading=lead,
        onstopped_leading=lambda: print("stopped", flush=True),
    )
    leaderelection.LeaderElection(settings).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
