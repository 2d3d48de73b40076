"""Reads the files that users send: pictures, recordings, documents, tables and texts."""
