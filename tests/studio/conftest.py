"""A real PostgreSQL for the tests of the studio, from Debian's package."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import pytest

from fork_server import start_workers_by_fork
from patience import PATIENCE


@pytest.fixture(scope="session", autouse=True)
def start_background_processes_quickly():
    start_workers_by_fork()


def cannot(reason):
    """Skip on a developer's machine; fail in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


def free_port():
    """Return a port that is free now; another process may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class PostgresServer:
    """A PostgreSQL server in a temporary folder, on loopback and a free port."""

    password = "s3cret&word"

    def __init__(self, binaries):
        self.binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="likewise-postgres-"))
        # PostgreSQL refuses to run as root.
        self.as_user = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        )
        if self.as_user:
            shutil.chown(self.folder, "postgres", "postgres")
        self.port = free_port()
        secret = self.folder / "secret"
        secret.write_text(self.password)
        self._run(
            "initdb",
            "-D",
            "data",
            "-U",
            "tester",
            "--no-sync",
            "-A",
            "md5",
            "--pwfile",
            "secret",
            "-E",
            "UTF8",
        )
        secret.unlink()
        self.process = None
        for _ in range(5):
            try:
                self.start()
                return
            except RuntimeError as error:  # another process was faster
                if "could not bind" not in str(error):
                    raise
                self.port = free_port()
        raise RuntimeError("PostgreSQL found no free port")

    def _run(self, program, *arguments):
        subprocess.run(
            [self.binaries / program, *arguments],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            check=True,
            capture_output=True,
            timeout=PATIENCE,
            **self.as_user,
        )

    def start(self):
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    self.binaries / "postgres",
                    *("-D", "data", "-p", str(self.port), "-h", "127.0.0.1", "-k", "", "-F"),
                ],
                cwd=self.folder,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
                stdout=log,
                stderr=log,
                **self.as_user,
            )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2000:])
            time.sleep(0.05)

    def _answers(self):
        import psycopg

        try:
            psycopg.connect(self.url(), connect_timeout=60).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self):
        if self.process is not None:
            self.process.send_signal(3)  # SIGQUIT: at once, as in a crash
            self.process.wait(timeout=PATIENCE)
            self.process = None

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, schema=None, password=None):
        """The URL of the server, or of an empty schema in it, which serves as a database."""
        from urllib.parse import quote

        options = f"?options=-csearch_path%3D{schema}" if schema else ""
        secret = quote(password or self.password, safe="")
        return f"postgresql://tester:{secret}@127.0.0.1:{self.port}/postgres{options}"

    def empty(self):
        """The URL of a new empty schema."""
        import psycopg

        name = f"s{uuid.uuid4().hex}"
        with psycopg.connect(self.url()) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return self.url(name)


def new_server():
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        cannot(f"psycopg cannot be imported: {error}")
    binaries = programs()
    if binaries is None:
        cannot("PostgreSQL is not installed: no /usr/lib/postgresql/*/bin/postgres")
    try:
        return PostgresServer(binaries)
    except (OSError, RuntimeError, subprocess.SubprocessError, LookupError) as error:
        cannot(f"PostgreSQL does not start: {error}")


@pytest.fixture(scope="session")
def postgres():
    """A running PostgreSQL server, one per test process."""
    server = new_server()
    yield server
    server.remove()


@pytest.fixture
def own_postgres():
    """A server that the test may stop and start."""
    server = new_server()
    yield server
    server.remove()


@pytest.fixture
def postgres_url(postgres):
    """The URL of an empty schema."""
    return postgres.empty()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request, tmp_path):
    """The URL of an empty database; the test runs with SQLite and with PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'studio.sqlite'}"
    return request.getfixturevalue("postgres_url")
