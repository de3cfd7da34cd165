"""The routes of the studio: one module per topic; each route makes one call to the service."""
