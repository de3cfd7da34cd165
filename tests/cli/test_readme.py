"""Every command of the README runs as printed, in order, in an empty folder."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sysconfig
import urllib.request
from pathlib import Path

import pytest

from fork_server import start_command
from likewise.studio.sample import write_sample
from patience import PATIENCE

ROOT = Path(__file__).parents[2]
ANSWERS = "y\nn\nu\nq\n"  # for the command that asks
OUTPUT = re.compile(r"(?:--(?:out|plot|html|suggest|sample)|>) (\S+)")


def read_commands(text):
    """Return the commands of the console blocks; a line without a prompt belongs to the command before it."""
    commands = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append(line[2:])
            else:
                commands[-1] += f"\n{line}"
    return commands


@pytest.fixture
def env():
    """Return an environment that finds the installed command, opens no browser and has no other data."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    env = {**os.environ, "PATH": path, "BROWSER": "true", "NO_COLOR": "1"}
    env.pop("LIKEWISE_DATA", None)
    return env


def run_command(command, folder, env):
    """Run a command to its end; answer it if it asks, and end it with Ctrl-C if it is a server."""
    if command.startswith("make "):  # in a checkout; whether the target can be made is enough here
        subprocess.run(["make", "-n", command.split()[1]], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return
    if command.startswith("likewise studio "):
        serve(command, folder, env)
        return
    if command.startswith("likewise "):
        code, shown = fork_command(command, folder, env)
    else:
        ended = subprocess.run(["sh", "-c", command], cwd=folder, env=env, text=True, capture_output=True)
        code, shown = ended.returncode, ended.stdout + ended.stderr
    assert code == 0, f"{command}\n{shown}"


def fork_command(command, folder, env):
    """Run a command of likewise in a process; return the exit code and what it printed."""
    (folder / ".typed").write_text(ANSWERS if command.startswith("likewise ask ") else "")
    stdin = os.open(folder / ".typed", os.O_RDONLY)
    output = os.open(folder / ".output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    words = shlex.split(command, comments=True)
    process = start_command(words[1:], folder, env, [stdin, output, os.dup(output)])
    process.join(PATIENCE)
    return process.exitcode, (folder / ".output").read_text()


def serve(command, folder, env):
    """Start a studio, see that it answers, and end it."""
    words = shlex.split(command, comments=True)
    reading, stdout = os.pipe()
    stderr = os.open(folder / ".errors", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    streams = [os.open(os.devnull, os.O_RDONLY), stdout, stderr]
    with os.fdopen(reading) as printed:
        process = start_command(words[1:], folder, env, streams, serves=True)
        try:
            link = printed.readline()
            assert link.startswith("http://"), f"{command}\n{(folder / '.errors').read_text()}"
            with urllib.request.urlopen(link.partition("/login")[0] + "/health") as answer:
                assert answer.status == 200
            os.kill(process.pid, signal.SIGINT)
            process.join(PATIENCE)
            assert process.exitcode == 0
        finally:
            process.kill()
            process.join()
    shown = (folder / ".errors").read_text()
    assert "Ended. All answers are in" in shown, f"{command}\n{shown}"


def test_every_command_of_the_readme_runs_in_order_in_an_empty_folder(tmp_path, env):
    if shutil.which("make") is None or not (ROOT / "Makefile").exists():
        pytest.skip("this is no checkout, or there is no make")
    commands = read_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(commands) > 12
    for command in commands:
        if "--sample photos/" in command:
            write_sample(tmp_path / "photos", n=60)  # without it, the command draws 96 birds
        run_command(command, tmp_path, env)
        assert [name for name in OUTPUT.findall(command) if not (tmp_path / name).exists()] == [], command


def test_a_command_that_fails_is_noticed(tmp_path, env):
    text = "```console\n$ cat > a.csv <<END\nx\nEND\n$ likewise check a.csv nowhere.csv\n```\n"
    first, second = read_commands(text)
    run_command(first, tmp_path, env)
    assert (tmp_path / "a.csv").read_text() == "x\n"
    with pytest.raises(AssertionError, match="there is no file"):
        run_command(second, tmp_path, env)
