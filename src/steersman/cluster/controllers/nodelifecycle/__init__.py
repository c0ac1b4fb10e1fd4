"""Nodes that live and nodes that do not: heartbeats, conditions, taints, and how fast pods are evicted.

Start reading at `controller`; `health` decides who is silent, `zones` how many nodes may lose their pods.
"""
