"""The verbs that write: create, update, patch, server-side apply, delete, and the reviews.

Each is a function of the `Api` and the `Call`. Start reading in `create`, then `update`.
"""
