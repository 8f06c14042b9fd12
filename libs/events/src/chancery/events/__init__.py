"""The messages on the bus: CloudEvents and their versions, requests, the one topology table."""
