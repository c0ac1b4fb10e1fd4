"""The namespace controller: deletes the contents of terminating namespaces, then finalizes them. Start
reading at `controller`.

| module       | owns                                                                 |
|--------------|----------------------------------------------------------------------|
| `conditions` | the deletion conditions of a namespace's status. Pure                |
| `emptying`   | one pass over everything in a namespace                              |
| `controller` | when a pass is made, and removing the finalizer                      |
"""
