"""The retrieval service: the search index, and what is gathered from it for a run."""
