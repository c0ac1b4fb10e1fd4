"""Steersman: Kubernetes operators in Python, and an embedded cluster to run them on.

Importing the package loads nothing; each layer is imported by its own name.
"""
