"""The passport: every memory as a file of its own, in the form of seed 004, to be read, moved and brought back.

Beside the seed's memories it holds plans, what is known of users as a whole, the soul's own state and the bytes of
pictures (`beside_*`, `pictures`). The fields of the seed stand at the top, everything of ours under the one key
`soul_daemon`. What a passport says is data from anywhere: its ids become paths only in `names`, its files are read only
by `reading` and `pictures`.
"""
