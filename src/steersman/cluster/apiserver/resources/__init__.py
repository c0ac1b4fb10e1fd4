"""Resources: kind, strategy, printer columns, storage keys and storage encoding of what the server serves."""
