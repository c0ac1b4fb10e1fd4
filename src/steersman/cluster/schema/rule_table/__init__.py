"""The validation rules of rules.txt, compiled to Python source when Steersman is built.

`reading` parses the text, `fields` says what the published types are, `emitting` turns each block of rules
into a Python function, and `building` writes the modules of `cluster.schema.validation.compiled`. None of it
runs when an object is validated. Only the standard library is used, since hatch_build.py runs this in build
environments where Steersman's dependencies are not installed.
"""
