"""The studio: a web application in which people guide the clustering.

An answer goes route → service → store → (background) refit → next question. The stored events are the only
state; hints, model, groups and questions are derived from them. Only `routes`, `app` and `server` import web
packages, and only `store` imports database packages.
"""
