"""The passport: every memory as a file in the form of seed 004, to read, move to another machine and import again.

`kinds` declares each kind of file once; the other modules write, read, check and store them by these declarations. The
schema of memory.db refuses wrong values. A passport is untrusted data: only `kinds` turns its ids into paths, only
`reading` and `pictures` open its files, and no name from a file becomes part of a statement.
"""
