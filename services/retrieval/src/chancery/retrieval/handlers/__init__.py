"""What retrieval does: follow the INDEX stream, and gather for an admitted run."""
