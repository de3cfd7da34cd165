"""What is derived from the events, in a process of its own: questions, groups, progress and the map.

The server imports `worker` alone; `brain` and `layout` are imported in the process that thinks.
"""
