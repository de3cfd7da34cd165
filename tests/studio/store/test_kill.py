"""SIGKILL in the middle of writing: acknowledged events are stored exactly once, on both databases."""

import subprocess
import sys
from collections import Counter

from likewise.studio.store import open_store

WRITER = """
import itertools, sys, threading
from likewise.studio.records import NewEvent
from likewise.studio.store import open_store

store = open_store(sys.argv[1])
(ann,) = store.read(lambda t: t.get_people())

def write(part):
    for i in itertools.count():
        event = NewEvent(f"{sys.argv[2]}-{part}-{i}", "answer", ann.id, {"text": "x" * 500})
        stored, new = store.write(lambda t: t.append(event))
        sys.stdout.write(f"{stored.seq} {stored.key}\\n")
        sys.stdout.flush()

for part in range(6):
    threading.Thread(target=write, args=(part,)).start()
"""


def test_a_kill_loses_nothing_acknowledged(database_url):
    store = open_store(database_url)
    store.write(lambda t: t.add_person("Ann", "owner"))
    store.close()
    acknowledged = {}
    for round_ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, database_url, str(round_)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(20 + 15 * round_):
            seq, key = child.stdout.readline().split()
            acknowledged[int(seq)] = key
        child.kill()
        # The last line may be cut in two.
        for line in child.stdout.read().splitlines(keepends=True):
            if line.endswith("\n"):
                seq, key = line.split()
                acknowledged[int(seq)] = key
        child.stdout.close()
        child.wait()
    store = open_store(database_url)
    stored = store.read(lambda t: t.get_events())
    store.check_health()
    store.close()
    assert acknowledged.items() <= {event.seq: event.key for event in stored}.items()
    assert max(Counter(event.key for event in stored).values()) == 1
    assert len(acknowledged) >= 20 + 35 + 50
