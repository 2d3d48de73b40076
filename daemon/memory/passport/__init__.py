"""The passport: every memory as a file in the form of seed 004, to read, move and import again.

It also holds plans, whole models of users, the soul's own state and the bytes of pictures. The seed's fields are at the
top level, ours under the key `soul_daemon`. A passport is untrusted data: only `names` turns its ids into paths, and
only `reading` and `rows` read its files.
"""
