"""Measures release: sealing, disclosing, and both while the log is busy."""
