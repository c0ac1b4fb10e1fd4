"""The Kubernetes API over HTTP: start reading at `server`, which takes a request to its verb, then at the
verbs (`create`, `update`, `patch`, `apply`, `delete`, `reads`, `watch`)."""
