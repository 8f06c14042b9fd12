"""What is indexed, what is searched and what is gathered: pure."""
