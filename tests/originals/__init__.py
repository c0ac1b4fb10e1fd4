"""The programs that this project is measured against: which, in which version, where they are, how they run.

`python -m tests.originals` (`make originals`) installs them into a folder of the user, from the registries of
their languages, as any other test dependency; nothing of them is in this repository but names, versions and
checksums. Tests marked `original` use them, and are skipped where they are not installed.
"""
