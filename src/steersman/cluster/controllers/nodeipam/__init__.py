"""Which addresses the pods of a node get: every node has its own part of the cluster's range."""
