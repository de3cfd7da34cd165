"""The command line: ``main`` plus one module per command, imported when the command is run."""
