"""The command as a process: start, login links, orderly shutdown, and restart of the worker."""

import json
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from likewise.studio.project import Project
from patience import PATIENCE, wait_until
from studio.whole.command import RUN

pytest.importorskip("fastapi")
OPTIONS = ("--text", "text", "--id", "name", "-k", "2")


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["server", "group"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_it_shuts_down_in_order(start, number, whom):
    command = start(*OPTIONS)
    code, output = command.end(lambda pid: (os.kill if whom == "server" else os.killpg)(pid, number))
    assert code == 0
    assert "Traceback" not in output
    assert "background process" not in output
    assert output.rstrip().endswith(f"Ended. All answers are in {command.printed['project']}.")


@pytest.mark.slow
def test_a_second_ctrl_c_ends_without_a_traceback(start):
    command = start(*OPTIONS)
    address = httpx.URL(command.url)

    def is_closed():
        try:
            socket.create_connection((address.host, address.port)).close()
        except ConnectionRefusedError:
            return True
        return False

    def press_twice(pid):
        os.kill(pid, signal.SIGINT)
        wait_until(is_closed, "an end that waits for the open request")
        os.kill(pid, signal.SIGINT)

    with socket.create_connection((address.host, address.port)) as request:  # its body never comes
        head = f"POST /api/login HTTP/1.1\r\nHost: {address.host}:{address.port}\r\nX-Likewise: 1\r\n"
        request.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{{".encode())
        code, output = command.end(press_twice)
    assert code == 0
    assert "Traceback" not in output
    assert output.rstrip().endswith(f"Ended. All answers are in {command.printed['project']}.")


@pytest.mark.slow
def test_a_second_command_prints_another_link_and_the_first_keeps_running(start, tmp_path):
    command = start(*OPTIONS)
    command.owner()
    again = subprocess.run(
        [sys.executable, "-c", RUN, "studio", "birds.csv", *OPTIONS, "--no-open", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    printed = json.loads(again.stdout)
    assert printed["url"] == command.url
    assert printed["login"] != command.printed["login"]
    assert "is running already" in again.stderr
    assert command.log_in(printed["login"]).get("me")["person"]["role"] == "owner"
    with pytest.raises(AssertionError, match="login"):  # each link works once
        command.log_in(printed["login"])


@pytest.mark.slow
def test_a_killed_worker_is_restarted(start):
    command = start(*OPTIONS)
    owner = command.owner()
    owner.answer_truly(owner.ask())
    first = command.worker()
    first.kill()
    wait_until(lambda: command.worker() not in (None, first), "another worker")
    assert owner.answer_many(3) == 3
    wait_until(lambda: owner.get("progress")["behind"] == 0, "a worker that knows all")
    assert owner.get("progress")["n_answers"] == 4


@pytest.mark.slow
def test_data_that_are_removed_while_it_runs_do_not_stop_it(start, tmp_path):
    command = start(*OPTIONS)
    owner = command.owner()
    (tmp_path / "birds.csv").unlink()
    assert owner.answer_many(2) == 2
    with command.clients[0].stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        while next(lines) != "event: trouble":
            pass
        assert "birds.csv cannot be read" in next(lines)


def test_pictures_with_odd_names_are_served_below_a_base_path(start, tmp_path):
    from PIL import Image

    names = ["a b.png", "q'u\"ote.png", "🦉.png", "<script>alert(1)<.png", "two\nlines.png", "#?%2f.png"]
    (tmp_path / "odd").mkdir()
    for k, name in enumerate(names):
        Image.new("RGB", (9, 9), (40 * k, 0, 0)).save(tmp_path / "odd" / name)
    command = start("odd", "-k", "2", "--base-path", "birds/all")
    assert command.url.endswith("/birds/all")
    assert httpx.get(command.url.removesuffix("/birds/all") + "/health").json()["status"] == "ok"
    owner = command.owner()
    assert owner.get("me")["project"]["title"] == "odd"
    items = owner.get("items?rows=0,1,2,3,4,5")["items"]
    assert sorted(item["id"] for item in items) == sorted(names)
    for item in items:
        for part in ("media", "thumb"):
            reply = owner.client.get(f"/{item[part]}")
            assert (reply.status_code, reply.headers["content-type"].split("/")[0]) == (200, "image")


def test_the_server_does_not_import_scikit_learn_before_the_page_is_up():
    words = "import sys, likewise.studio.server, likewise.studio.jobs.worker; print('sklearn' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_project_folder_is_reported(start, tmp_path):
    command = start(*OPTIONS)
    command.end(lambda pid: os.kill(pid, signal.SIGINT))
    folder = Project.open(command.printed["project"]).folder
    folder.chmod(0o500)
    try:
        with pytest.raises(AssertionError, match="The studio needs a writable folder"):
            start(*OPTIONS)
    finally:
        folder.chmod(0o700)
