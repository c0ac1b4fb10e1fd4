"""Where services lead: EndpointSlices and Endpoints of the pods that services select, and slices that mirror
Endpoints made by hand.

Start reading at `endpointslice`, then `slices` (how endpoints are packed) and `services` (which services a
pod belongs to).
"""
