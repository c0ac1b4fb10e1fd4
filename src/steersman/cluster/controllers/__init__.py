"""The controllers of kube-controller-manager, one module or folder each.

Start reading at `setup` (what a controller is constructed with) and `registry` (all controllers by name).
"""
