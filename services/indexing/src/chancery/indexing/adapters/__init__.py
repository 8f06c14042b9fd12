"""The ports of indexing over JetStream and PostgreSQL."""
