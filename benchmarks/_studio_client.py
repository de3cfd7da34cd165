"""A studio in a separate process, and simulated people who answer over plain sockets.

A client library would use more CPU time than the server, and both share the processor here.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import urlsplit

COMMAND = (str(Path(sys.executable).with_name("likewise")), "studio")
HEADERS = "X-Likewise: 1\r\nContent-Type: application/json\r\n"


class Served:
    """`likewise studio` on a path, started as a command."""

    def __init__(self, *arguments, port=0):
        command = [*COMMAND, *map(str, arguments)]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "--no-open", "--json", "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        output = ""
        while not output.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(self.process.stderr.read())
            output += line
        self.started_with = json.loads(output)
        self.login = self.started_with["login"]
        self.url = self.started_with["url"]
        self.token = self.login.rpartition("#")[2]
        place = urlsplit(self.url)
        self.host, self.port = place.hostname, place.port

    def kill(self):
        """Kill the process."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """End the process like Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20)


class Person:
    """A person with a connection and a session."""

    def __init__(self, served, name=""):
        self.served = served
        self.name = name
        self.cookie = ""
        self._reader = self._writer = None

    async def connect(self):
        self.close()
        self._reader, self._writer = await asyncio.open_connection(self.served.host, self.served.port)

    def close(self):
        if self._writer is not None:
            self._writer.close()
            self._reader = self._writer = None

    async def call(self, method, path, content=None):
        """Send one request; return its status and content."""
        if self._writer is None:
            await self.connect()
        body = b"" if content is None else json.dumps(content).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.served.host}:{self.served.port}\r\n{HEADERS}"
            f"Cookie: {self.cookie}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status, length = int(lines[0].split()[1]), 0
        for line in lines[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
            elif name.lower() == "set-cookie" and value.strip().startswith("likewise-"):
                self.cookie = value.strip().split(";")[0]
        raw = await self._reader.readexactly(length)
        return status, json.loads(raw) if raw else None

    async def log_in(self, token):
        status, content = await self.call("POST", "/api/login", {"token": token})
        if status != 200:
            raise RuntimeError(content)
        return self

    async def first_question(self, seconds=60):
        """Wait until there are questions."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            _, asked = await self.call("POST", "/api/questions", {"n": 3})
            if asked["questions"]:
                return asked["questions"]
            await asyncio.sleep(0.02)
        raise RuntimeError("no question came")


async def invited(owner, n):
    """Invite `n` people, and return them logged in."""
    people = []
    for number in range(n):
        status, content = await owner.call(
            "POST", "/api/people", {"name": f"person {number} {uuid.uuid4().hex[:6]}"}
        )
        if status != 200:
            raise RuntimeError(content)
        person = Person(owner.served, content["person"]["name"])
        people.append(await person.log_in(content["link"].rpartition("#")[2]))
    return people
