"""One module per thing that arrives: events of runs, commands, and questions."""
