"""The admin's folders of documents and code: read, cut into passages, indexed and searched."""
