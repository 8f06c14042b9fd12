"""What indexing does with an event."""
