"""The release service: authority from the log, runs, the seal, and every disclosure."""
