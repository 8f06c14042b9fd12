"""The write side of the log: authenticates, decides and appends what may be read by whom."""
