"""The command line: ``main`` plus one file per command, each imported when it is wanted."""
