"""Records of memory: what happened, what is believed and why, what was shown, what the soul wrote for itself.

Each record has one row in `records` and one in the table of its kind; links join records and turns and are read from
both ends. The store alone makes ids. Written here, and nowhere else, so that the full-text index, the links and the
ledger can't disagree with the rows (seed 004).
"""
