"""The EndpointSlice, Endpoints and EndpointSlice mirroring controllers: the addresses of the pods that
Services select.

Start reading at `endpointslice`, then `slices` (packing endpoints into slices) and `services` (the Services
that select a pod).
"""
