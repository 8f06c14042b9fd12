"""What release decides, pure: folds, scopes, selections, documents; no socket, clock, database."""
