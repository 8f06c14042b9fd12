"""JetStream as this product uses it: acknowledged publishing, leader reads, readers, topology."""
