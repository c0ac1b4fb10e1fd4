"""The Job controller: runs pods to completion and counts each finished pod exactly once.

Start reading at `controller` (the order of a reconcile), then `tally` (the pods counted), `verdict` (whether
the Job is finished), `plan` (the pods to create and delete) and `tracking` (finalizers of finished pods).
"""
