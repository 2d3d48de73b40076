"""The admin's folders of documents and code: found, cut into passages, kept in an index and searched."""
