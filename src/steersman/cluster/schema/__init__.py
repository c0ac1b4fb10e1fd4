"""The built-in types: which resources there are, what their fields are, and what makes an object right.

`version` says of which Kubernetes they are and `resources` lists the resources; `table` holds the types'
schemas and `wire` what Go and protobuf add to them; `decode` brings an object into normal form, `shapes`
tells patches how its parts merge, `openapi` describes it all to clients. `defaults`, `validation` and
`conversion` work on objects in normal form; what `validation` refuses stands in rules.txt, which
`rule_table` compiles.
"""
