"""The keeper: a small process per node that forks the node's containers and outlives the node agent.

It is started by `process.link` as a program of its own, with nothing but the standard library and without
`site`: modules here import only each other (relatively, since the keeper loads them without the packages
around them) and may not start threads. The agent imports `messages`, `protocol`, `cgroups`,
`stragglers` and `system_calls` as well.

    agent ──Unix socket: frames, descriptors──► keeper ──fork──► containers
                                                  └── log files, state.json of every container

What lives here survives the agent's death; what is only known here and not in a file dies with the keeper,
and so do the containers with all their processes (see `guardian`).
"""
