"""Control loops that the API server runs in its own process, without a controller manager."""
