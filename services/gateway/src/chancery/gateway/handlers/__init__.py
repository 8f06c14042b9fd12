"""The HTTP routes: each reads a call, asks the owner, and tells the outcome."""
