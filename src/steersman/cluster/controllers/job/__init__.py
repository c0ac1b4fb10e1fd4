"""Jobs: pods that run to their end, counted so that none is counted twice or lost.

Start reading at `controller` (the order of things), then `tally` (what there is), `verdict` (whether the job
is over), `plan` (which pods to make and delete) and `tracking` (how ended pods are counted).
"""
