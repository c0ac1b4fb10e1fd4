"""The namespace controller: deletes the contents of terminating namespaces, then finalizes them. Start
reading at `controller`.

| module       | owns                                                                 |
|--------------|----------------------------------------------------------------------|
| `conditions` | what a namespace's status tells about its end. Pure                  |
| `emptying`   | one pass over everything in a namespace                              |
| `controller` | when a pass is made, and the last step                               |
"""
