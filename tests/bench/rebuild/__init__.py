"""Measures rebuilding a projection beside reading alone and beside another library."""
