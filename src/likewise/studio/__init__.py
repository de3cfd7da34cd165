"""The studio: people guide the clustering in a browser.

An answer goes route → service → store → (background) refit → next question. The events that the store holds
are the only state; hints, model, groups and questions are derived from them. Web packages are imported by
routes, app and server only, and those of the database by the store.
"""
