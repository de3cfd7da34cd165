"""A background process that derives questions, groups, progress and the map from the events.

The server imports only `worker`; `analysis` and `layout` are imported in the background process.
"""
