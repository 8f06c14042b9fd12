"""The demo: a drawn scenario, played over the public HTTP surface, that checks itself."""
