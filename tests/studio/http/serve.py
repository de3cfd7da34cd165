"""Serve a project until killed; print one line of JSON when ready.

``python serve.py FOLDER`` uses a worker process, ``python serve.py FOLDER inside`` a thread.
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
