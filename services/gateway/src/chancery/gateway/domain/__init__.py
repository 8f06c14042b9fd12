"""What the edge knows without asking: bodies, media types, problem documents, event frames."""
