"""A real server on loopback with a real worker process: live updates, shutdown, kills under load."""

import json
import multiprocessing
import os
import secrets
import signal
import socket
import threading
import time

import httpx
import pytest

from fork_server import start_process
from likewise.exceptions import LikewiseError
from likewise.studio.project import Project
from likewise.studio.server import StudioServer
from likewise.studio.service._accounts import compute_digest
from likewise.studio.service._studio import compute_project_id
from patience import PATIENCE, wait_until
from small_projects import make, open_project_store
from studio.http.serve import serve
from studio.http.web import HEADERS, answer, ask
from studio.service.desk import Clock, Desk, names, new_key

HEADER = {"X-Likewise": "1"}


class Running:
    """A server in a thread of the test process."""

    def __init__(self, project, **options):
        self.server = StudioServer(project, **options)
        self.clients = []
        ready = threading.Event()

        def tell(studio, link):
            self.studio, self.link = studio, link
            ready.set()

        self.thread = threading.Thread(target=self.server.serve, kwargs={"ready": tell}, daemon=True)
        self.thread.start()
        assert ready.wait(PATIENCE)

    def client(self, name=None):
        client = httpx.Client(base_url=self.server.url, headers=HEADER, timeout=PATIENCE)
        self.clients.append(client)
        person = (
            self.studio.people.get_owner() if name is None else self.studio.people.add(name, "annotator")[0]
        )
        token = self.studio.people.make_link_token(person.id)
        assert client.post("/api/login", json={"token": token}).status_code == 200
        return client

    def stop(self):
        self.server.stop()
        self.thread.join(PATIENCE)

    def close(self):
        self.stop()
        for client in self.clients:
            client.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A server for all tests of this module that leave it running."""
    running = Running(make(tmp_path_factory.mktemp("served"), names(40)))
    yield running
    running.close()


def first_questions(client, n=1):
    """Wait until the worker process has chosen questions."""
    found = []

    def some():
        found[:] = ask(client, n)
        return bool(found)

    wait_until(some, "a first question")
    return found


def news(lines, wanted):
    """Read a stream up to the first event of a name, and return its content."""
    for line in lines:
        if line == f"event: {wanted}":
            return json.loads(next(lines).removeprefix("data: "))
    raise AssertionError(f"the stream ended without {wanted}")


def test_updates_are_pushed_and_the_stream_does_not_delay_shutdown(tmp_path, request):
    running = Running(make(tmp_path, names(40)))
    request.addfinalizer(running.close)
    client = running.client()
    (question,) = first_questions(client)
    with client.stream("GET", "/api/events") as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["x-accel-buffering"] == "no"
        for header in HEADERS:
            assert header in stream.headers
        lines = stream.iter_lines()
        assert next(lines).startswith("retry:")
        seq = answer(client, question).json()["seq"]
        while news(lines, "picture")["seq"] < seq:
            pass
        assert news(lines, "progress")["n_answers"] == 1
        running.stop()
        assert not running.thread.is_alive()
        list(lines)  # it ends, and by itself
    with pytest.raises(httpx.ConnectError):
        client.get("/health")


def test_the_stream_ends_with_the_session(running):
    client = running.client("Bob")
    owner = running.client()
    (question,) = first_questions(owner)
    person = client.get("/api/me").json()["person"]["id"]
    with client.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        assert news(lines, "progress")["mine"] == 0  # at once
        assert owner.post(f"/api/people/{person}/active", json={"active": False}).status_code == 200
        answer(owner, question)
        rest = list(lines)  # it ends
    assert not [line for line in rest if "n_answers" in line]


def test_problems_of_the_project_are_reported_only_to_the_owner(running):
    heard = {}

    def listen(who, client, ready):
        with client.stream("GET", "/api/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            ready.wait()
            heard[who] = news_until(lines, "layout")

    clients = {"owner": running.client(), "Ann": running.client("Ann")}
    ready = threading.Barrier(3)
    threads = [threading.Thread(target=listen, args=(*one, ready)) for one in clients.items()]
    for thread in threads:
        thread.start()
    ready.wait()
    running.studio.hub.emit("trouble", {"text": "the data file is gone"})
    running.studio.hub.emit("layout", {"method": "the end", "final": True})
    for thread in threads:
        thread.join(PATIENCE)
    assert "trouble" in heard["owner"]
    assert "trouble" not in heard["Ann"]


def news_until(lines, last):
    """Return the names of the events up to the one sent by this test."""
    found = []
    for line in lines:
        if line.startswith("event: "):
            found.append(line.removeprefix("event: "))
            if found[-1] == last and "the end" in next(lines):
                return found
    return found


def test_a_long_body_without_a_length_is_refused(running):
    client = running.client()

    def endless():
        for _ in range(200):
            yield b" " * 1024

    try:
        sent = client.post("/api/questions", content=endless(), headers={"Content-Type": "application/json"})
    except httpx.HTTPError:
        pass  # the server need not read to the end of it
    else:
        assert sent.status_code == 413
    assert client.get("/health").status_code == 200


def test_a_head_response_has_no_body_and_a_foreign_host_is_refused(running):
    client = running.client()
    assert client.head("/api/me").content == b""
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
    assert "server" not in client.get("/").headers


def test_a_server_on_all_addresses_accepts_and_prints_those_of_the_machine(tmp_path, request):
    running = Running(make(tmp_path), host="0.0.0.0")
    request.addfinalizer(running.close)
    server = running.server
    port = server._port
    client = httpx.Client(timeout=PATIENCE)
    request.addfinalizer(client.close)
    assert server.url == server.urls[0]
    assert running.link.startswith(f"{server.url}/login#")
    assert client.post(
        f"{server.url}/api/login", json={"token": running.link.partition("#")[2]}, headers=HEADER
    ).is_success
    name = socket.gethostname().lower()
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"{name}:{port}", f"{name}.local:{port}"):
        reply = client.get(f"http://127.0.0.1:{port}/health", headers={"Host": host})
        assert reply.status_code == 200, host
    # An address of this machine that was unknown at start: the one that the connection came to.
    reply = client.get(f"http://127.0.0.9:{port}/health")
    assert reply.status_code == 200
    origin = {**HEADER, "Origin": f"http://127.0.0.9:{port}"}
    assert (
        client.post(f"http://127.0.0.9:{port}/api/login", json={"token": "no"}, headers=origin).status_code
        == 401
    )
    for foreign in (f"evil.example:{port}", "evil.example", f"192.0.2.77:{port}", f"127.0.0.9:{port + 1}"):
        reply = client.get(f"http://127.0.0.1:{port}/health", headers={"Host": foreign})
        assert reply.status_code == 421, foreign
        assert "--public-url" in reply.json()["error"]["message"]


def test_links_contain_an_address_that_others_can_reach(monkeypatch):
    from likewise.studio import security

    class Probe:
        """A socket of a machine with an address in another network."""

        def __init__(self, family, kind):
            self.family = family

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def connect(self, place):
            if self.family == socket.AF_INET6:
                raise OSError("no route")

        def getsockname(self):
            return ("10.1.2.3", 5)

    monkeypatch.setattr(security.socket, "socket", Probe)
    monkeypatch.setattr(security.socket, "gethostname", lambda: "Owl")
    monkeypatch.setattr(security.socket, "getfqdn", lambda: "owl.example.org")
    entries = [
        (0, 0, 0, "", (address, 0)) for address in ("127.0.1.1", "10.1.2.3", "fe80::1%eth0", "2001:db8::5")
    ]
    monkeypatch.setattr(security.socket, "getaddrinfo", lambda *_: entries)
    found = security.find_own_hosts()
    assert found == ["10.1.2.3", "[2001:db8::5]", "owl", "owl.example.org", "owl.local"]
    hosts = security.get_hosts("0.0.0.0", 80, None)
    assert {"10.1.2.3", "10.1.2.3:80", "[2001:db8::5]", "owl.example.org", "localhost"} <= hosts
    assert "10.1.2.3:80" not in security.get_hosts("127.0.0.1", 80, None)


def test_a_second_server_is_refused_with_the_address_of_the_first(running):
    other = StudioServer(Project.open(running.server.project.folder))
    with pytest.raises(LikewiseError, match=running.server.url):
        other.serve()


def test_an_occupied_port_is_reported_clearly(running):
    port = int(running.server.url.rpartition(":")[2])
    with pytest.raises(LikewiseError, match="--port"):
        StudioServer(running.server.project, port=port)


# ---------------------------------------------------------------------- a process that is killed


class Process:
    """A server in a separate process."""

    def __init__(self, folder, *, inside=False):
        receiving, sending = multiprocessing.Pipe(duplex=False)
        with receiving:
            with sending:
                self.process = start_process(serve, (folder, inside, sending), serves=True)
            self.url = receiving.recv()

    def end(self, how):
        os.kill(self.process.pid, how)
        self.process.join(PATIENCE)
        return self.process.exitcode


class Annotator(threading.Thread):
    """Answers as fast as possible, and sends what was not acknowledged again to the next server."""

    def __init__(self, session, project):
        super().__init__(daemon=True)
        self.session = session
        self.cookies = {f"likewise-{compute_project_id(project)}": session}
        self.acknowledged = {}
        self.waiting = None
        self.moved, self.url = threading.Condition(), None
        self.wrong = []

    def go_to(self, url):
        with self.moved:
            self.url = url
            self.moved.notify_all()

    def run(self):
        while self.url is not None:
            url = self.url
            try:
                with httpx.Client(
                    base_url=url, headers=HEADER, cookies=self.cookies, timeout=PATIENCE
                ) as client:
                    self._work(client, url)
            except httpx.HTTPError:
                with self.moved:  # it was killed; the next one is starting
                    self.moved.wait_for(lambda url=url: self.url != url, timeout=PATIENCE)

    def _work(self, client, url):
        while self.url == url:
            if self.waiting is None:
                questions = ask(client, 1)
                if not questions:
                    time.sleep(0.01)
                    continue
                heads = {item["id"][0] for item in questions[0]["items"]}
                self.waiting = {
                    "key": new_key(),
                    "question": questions[0]["id"],
                    "answer": "SAME" if len(heads) == 1 else "DIFFERENT",
                    "seconds": 0.5,
                }
            response = client.post("/api/answers", json=self.waiting)
            if response.status_code != 200:
                self.wrong.append(response.text)
                return
            self.acknowledged[self.waiting["key"]] = response.json()["seq"]
            self.waiting = None


@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_killed_server_loses_nothing_acknowledged(tmp_path, kills):
    project = make(tmp_path, names(60))
    sessions = [secrets.token_urlsafe(16) for _ in range(3)]

    def invite(tx):
        for n, session in enumerate(sessions):
            tx.add_session(
                tx.add_person(f"A{n}", "annotator").id, compute_digest(session), time.time() + 3600
            )

    with open_project_store(project) as store:
        store.write(invite)
    people = [Annotator(session, project) for session in sessions]

    def n_acknowledged():
        return sum(len(one.acknowledged) for one in people)

    try:
        for _ in range(kills):
            process, before = Process(project.folder, inside=True), n_acknowledged()
            try:
                for one in people:
                    one.go_to(process.url)
                    if not one.is_alive():
                        one.start()
                wait_until(lambda before=before: n_acknowledged() >= before + 8, "eight answers")
            finally:
                assert process.end(signal.SIGKILL) == -signal.SIGKILL
    finally:
        for one in people:
            one.go_to(None)
    for one in people:
        one.join(PATIENCE)
    # The project opens; unacknowledged answers are sent again and count once.
    desk = Desk(Project.open(project.folder), clock=Clock(time.time()))
    try:
        for one in people:
            if one.waiting is not None:
                person = desk.studio.people.find_by_session(one.session)
                answered = desk.asking.answer(person, **one.waiting)
                one.acknowledged[one.waiting["key"]] = answered["seq"]
    finally:
        desk.close()
    assert not [text for one in people for text in one.wrong]
    with open_project_store(project) as store:
        events = [event for event in store.read(lambda tx: tx.get_events()) if event.kind == "answer"]
    kept = {event.key: event.seq for event in events}
    assert len(kept) == len(events) >= 8 * kills
    assert len({event.question for event in events}) == len(events)  # none twice
    for one in people:
        assert one.acknowledged.items() <= kept.items()


def test_a_stopped_server_stops_its_worker(tmp_path):
    import psutil

    project = make(tmp_path)
    process = Process(project.folder)
    wait_until(lambda: psutil.Process(process.process.pid).children(recursive=True), "a worker")
    children = psutil.Process(process.process.pid).children(recursive=True)
    assert process.end(signal.SIGINT) == 0
    _, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert not alive
    with project.lock("http://another"):
        assert os.path.exists(project.folder / "lock")
