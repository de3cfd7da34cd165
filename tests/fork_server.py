"""Start real processes quickly: a fork server imports the package once.

Each process is forked from it and can be killed on its own. Start-up as users see it is covered by the tests
that run the installed command.
"""

import fcntl
import os
import sys
import termios
from contextlib import suppress
from multiprocessing import forkserver, get_context
from multiprocessing.resource_sharer import DupFd
from pathlib import Path

from likewise.studio.jobs import worker


def _ensure_running():
    """Start the fork server with the import path of this process, which Python 3.11 does not pass on."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    try:
        forkserver.set_forkserver_preload(["warm_imports"])
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def start_workers_by_fork():
    """Start the background processes of this process's studios from the fork server."""
    _ensure_running()
    worker.START_METHOD = "forkserver"


def start_process(function, arguments, *, serves=False):
    """Call a function in a process. One that `serves` may start processes, and must be ended by the test."""
    _ensure_running()
    process = get_context("forkserver").Process(target=function, args=arguments, daemon=not serves)
    process.start()
    return process


def start_command(arguments, folder, environment, streams, *, takes_terminal=False, serves=False):
    """Run `likewise` with these arguments.

    The file descriptors in `streams` (standard input, output, error) are closed in this process.
    """
    passed = (arguments, str(folder), environment, [DupFd(stream) for stream in streams], takes_terminal)
    process = start_process(_run_command, passed, serves=serves)
    for stream in set(streams):
        os.close(stream)
    return process


def _run_command(arguments, folder, environment, streams, takes_terminal):
    from likewise.cli.main import main

    for number, stream in enumerate(streams):
        os.dup2(stream.detach(), number)
    if takes_terminal:  # Ctrl-C goes to this process
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    worker.START_METHOD = "forkserver"
    sys.argv = ["likewise", *arguments]
    try:
        main()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # multiprocessing flushes again, and would fail again
