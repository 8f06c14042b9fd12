"""PostgreSQL, JetStream and blobs as the release service uses them."""
