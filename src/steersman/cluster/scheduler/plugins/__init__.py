"""The scheduler's own plugins, one module each, named as in kube-scheduler. `defaults` puts them together."""
