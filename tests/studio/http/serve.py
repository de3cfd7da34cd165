"""Serve a project in a process that can be killed."""

from contextlib import suppress
from functools import partial

from likewise.studio.jobs import worker
from likewise.studio.project import Project
from likewise.studio.server import StudioServer
from studio.service.desk import Inside


def serve(folder, inside, ready):
    """Serve until a signal ends it, and send the address through the pipe `ready`.

    The background work is done in a thread if `inside` is true, otherwise in a child of this process.
    """
    worker.START_METHOD = "spawn"
    project = Project.open(folder)
    options = {"teller": partial(Inside, project)} if inside else {}
    server = StudioServer(project)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again after an orderly end
        server.serve(ready=lambda _studio, _link: ready.send(server.url), **options)
