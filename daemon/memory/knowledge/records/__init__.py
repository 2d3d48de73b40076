"""Records of memory: episodes, facts, senses and the soul's journal, written by this package alone (seed 004).

Each record has one row in `records` and one in the table of its kind. Only this package writes them, because the
full-text index, the links and the ledger must agree with the rows.
"""
