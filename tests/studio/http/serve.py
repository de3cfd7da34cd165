"""Serves a project until it is killed, and prints one line of JSON when it is ready.

``python serve.py FOLDER`` has a worker process, ``python serve.py FOLDER inside`` thinks in a thread instead.
"""

import json
import sys
from functools import partial
from pathlib import Path

from likewise.studio.project import Project
from likewise.studio.server import StudioServer


def main():
    project = Project.open(Path(sys.argv[1]))
    options = {}
    if sys.argv[2:] == ["inside"]:
        from studio.service.desk import Inside

        options["teller"] = partial(Inside, project)
    server = StudioServer(project)

    def ready(_, link):
        print(json.dumps({"url": server.url, "link": link}), flush=True)

    server.serve(ready=ready, **options)


if __name__ == "__main__":  # the worker process imports this file too
    main()
