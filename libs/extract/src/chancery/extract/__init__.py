"""Turns the bytes of a document into its canonical text."""
