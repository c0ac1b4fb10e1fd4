"""The in-tree plugins of the scheduler, one module each, named as in kube-scheduler. `defaults` lists
them.
"""
