"""Control loops that the API server runs in its own process, so that they need no controller manager.

They are no controllers of `steersman.runtime`. A server without components would load the runtime and a
client for them (40 ms of CPU and 4 MB at the start, measured), and their writes, which are the server's own,
would become requests: audited, counted in its metrics, and queued with those of users.
"""
