"""What a Kubernetes object is: names, quantities, times, selectors, metadata, patches, field ownership.

A pure library: no I/O, no clock, no event loop, nothing of the cluster. Objects are plain dicts as JSON
decodes them and are never changed in place. Both the client side and the embedded cluster build on it.
"""
