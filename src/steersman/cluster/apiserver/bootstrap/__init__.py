"""Objects that the server creates when it starts: namespaces, priority classes, RBAC roles."""
