"""Searches memory by words and vectors, and keeps the vector index under `SOUL_HOME/index`.

memory.db is the truth. Everything below `SOUL_HOME/index` can be deleted, and is rebuilt from it.
"""
