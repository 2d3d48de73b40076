"""Finds memories: what is embedded, the vectors beside memory.db, and the search by them.

memory.db is the truth; everything below `SOUL_HOME/index` can be thrown away and is made anew from it.
"""
