"""The indexing service: extraction, parts, and the index state of every published revision."""
