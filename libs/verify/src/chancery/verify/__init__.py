"""Checks a bundle without trusting who made it: hashes, quotations, values, signature."""
