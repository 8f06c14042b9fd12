"""NATS and the file system, as the ports ask for them."""
