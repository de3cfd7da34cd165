"""The command ``likewise studio`` as a process, and people who use it over HTTP."""

import contextlib
import json
import os
import subprocess
import sys
import threading

import httpx
import psutil

from patience import PATIENCE, wait_until
from studio.service.desk import new_key

HEADERS = {"X-Likewise": "1"}
RUN = "from likewise.cli.main import cli; cli(prog_name='likewise')"
N = 40


def write_table(folder, n=N):
    """Write a table of two distant groups, i0, i2, … and i1, i3, …"""
    rows = "".join(f"i{k},word{k} {('owl', 'cat')[k % 2]},{k % 2 * 50 + k / n}\n" for k in range(n))
    path = folder / "birds.csv"
    path.write_text("name,text,x\n" + rows)
    return path


class Command:
    """A running studio; its arguments are passed to ``likewise studio --no-open --json``."""

    def __init__(self, *words, cwd, env=None):
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, "studio", "--no-open", "--json", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        self.stderr = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.clients = []
        output = ""
        for line in self.process.stdout:
            output += line
            if line.rstrip() == "}":
                break
        if not output:
            self.close()
            raise AssertionError("".join(self.stderr))
        self.printed = json.loads(output)
        self.url = self.printed["url"]

    def _read(self):
        self.stderr.extend(self.process.stderr)

    def children(self):
        return psutil.Process(self.process.pid).children(recursive=True)

    def worker(self):
        """The worker process, or None."""
        for each in self.children():
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
                if "spawn_main" in " ".join(each.cmdline()):
                    return each
        return None

    def end(self, send):
        """Stop it, and return its exit code and output."""
        children = self.children()
        send(self.process.pid)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        _, alive = psutil.wait_procs(children, timeout=PATIENCE)
        assert not alive
        return code, "".join(self.stderr)

    def close(self):
        for client in self.clients:
            client.close()
        if self.process.poll() is None:
            for child in self.children():
                child.kill()
            self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()

    def log_in(self, link):
        """A person who logs in with a link."""
        client = httpx.Client(base_url=self.url, headers=HEADERS, timeout=PATIENCE)
        self.clients.append(client)
        reply = client.post("/api/login", json={"token": link.partition("#")[2]})
        assert reply.status_code == 200, reply.text
        return Visitor(client)

    def owner(self):
        return self.log_in(self.printed["login"])


class Visitor:
    """A person who is logged in."""

    def __init__(self, client):
        self.client = client
        self.acknowledged = {}  # key: seq

    def get(self, path):
        reply = self.client.get(f"/api/{path}")
        assert reply.status_code == 200, reply.text
        return reply.json()

    def post(self, path, **body):
        reply = self.client.post(f"/api/{path}", json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def change(self, path, **body):
        """Post a change, with a new key."""
        key = new_key()
        reply = self.post(path, key=key, **body)
        self.acknowledged[key] = reply["seq"]
        return reply

    def ask(self):
        """Wait for a question; None if there are no more."""
        found = []

        def some():
            reply = self.post("questions", n=1)
            found[:] = reply["questions"]
            return bool(found) or reply["state"] == "finished"

        wait_until(some, "a question")
        return found[0] if found else None

    def answer(self, question, word):
        return self.change("answers", question=question["id"], answer=word, seconds=1.0)

    def answer_truly(self, question):
        a, b = question["items"]
        return self.answer(question, "SAME" if (a["row"] - b["row"]) % 2 == 0 else "DIFFERENT")

    def answer_many(self, n):
        """Answer up to n questions, and return how many there were."""
        for done in range(n):
            question = self.ask()
            if question is None:
                return done
            self.answer_truly(question)
        return n
