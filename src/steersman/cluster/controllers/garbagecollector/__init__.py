"""The garbage collector: deletes objects whose owners no longer exist. Start reading at `controller`.

| module       | owns                                                             |
|--------------|------------------------------------------------------------------|
| `items`      | the metadata that is read of an object, and the decision. Pure   |
| `monitors`   | informers of all deletable resources: owners and dependents      |
| `controller` | when objects are reconciled, and the requests that follow        |
"""
