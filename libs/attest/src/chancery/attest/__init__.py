"""Signatures over receipts and the sealing of content rows: pure, keys are arguments."""
