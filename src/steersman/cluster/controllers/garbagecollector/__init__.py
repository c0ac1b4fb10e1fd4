"""The garbage collector: deletes objects whose owners no longer exist. Start reading at `controller`.

| module       | owns                                                             |
|--------------|------------------------------------------------------------------|
| `items`      | what is looked at in an object, and what becomes of it. Pure     |
| `monitors`   | the caches of everything that can be deleted, owners, dependents |
| `controller` | when objects are looked at, and the requests that follow         |
"""
