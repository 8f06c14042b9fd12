"""Who may do and read what: states, events, decisions and read sets, pure functions of the log."""
