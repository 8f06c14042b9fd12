"""The ports of retrieval over tantivy and files."""
