"""The routes of the studio: thin, one file for each concern, each route one call of the service."""
