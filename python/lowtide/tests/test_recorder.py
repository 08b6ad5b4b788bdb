"""A recorder beside a program that was not started by `lowtide run`."""

import os
import shutil
import stat
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import io, os, sys, time
    from lowtide._progress import Progress
    {before}
    progress = Progress(record="a.lowtide", limit="2h", alone=True)
    progress.start(first=True)
    {body}
    progress.stop()
    print("trained")
"""


def run(folder, body="pass", before="", path=None, **settings):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM).format(body=body, before=before)],
        cwd=folder,
        env={**os.environ, "PATH": path or f"{folder}:/usr/bin:/bin", "LOWTIDE_DIR": str(folder), **settings},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def recorder(tmp_path):
    """In place of the program: says how it was called when it is asked for its report."""
    script = tmp_path / "lowtide"
    script.write_text(
        "#!/bin/sh\n"
        # The file says that the trap is set.
        "trap 'echo report of \"$@\" >&2; exit' TERM\n"
        "touch ready\n"
        "while kill -0 $2 2>/dev/null; do sleep 0.05; done\n"
        "echo the target ended >&2\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return tmp_path


READY = "while not os.path.exists('ready'): time.sleep(0.01)"


def test_its_report_comes_at_the_end(recorder):
    done = run(recorder, READY)
    words = done.stderr.split()
    assert words[:3] == ["report", "of", "attach"], done.stderr
    assert words[3].isdigit() and words[4:] == ["--record", "a.lowtide", "--for", "2h"]
    assert done.stdout == "trained\n"


def test_it_comes_too_where_stderr_is_no_file(recorder):
    # As in a notebook: what is printed there is kept elsewhere.
    before = "sys.stderr = io.StringIO()"
    done = run(recorder, READY + "\nprogress.stop()\nprint(sys.stderr.getvalue().split()[:3])", before)
    assert done.stdout == "['report', 'of', 'attach']\ntrained\n"
    assert done.stderr == ""


def test_it_comes_too_when_training_raises(recorder):
    done = run(recorder, READY + "\nraise KeyError('no')")
    assert done.returncode == 1
    assert "report of attach" in done.stderr


def test_under_run_there_is_no_second_recorder(recorder):
    done = run(recorder, LOWTIDE_MARKS=str(recorder))
    assert done.stdout == "trained\n"
    assert not (recorder / "ready").exists()


def test_without_the_program_training_goes_on(tmp_path):
    done = run(tmp_path)
    assert done.stdout == "trained\n"
    assert done.stderr.count("\n") == 1 and "neither on PATH nor beside this package" in done.stderr


def test_a_program_that_cannot_start_is_no_harm(recorder):
    (recorder / "lowtide").write_text("#!/nowhere\n")
    done = run(recorder)
    assert done.stdout == "trained\n"
    assert "Recorder stopped, the training goes on: FileNotFoundError" in done.stderr


@pytest.mark.skipif(shutil.which("lowtide") is None, reason="the program lowtide is not on PATH")
def test_the_real_one(tmp_path):
    body = "kept = []\nfor _ in range(20): kept.append(bytes(1 << 20)); time.sleep(0.1)"
    done = run(tmp_path, body, path=os.environ["PATH"])
    assert done.stdout == "trained\n"
    assert "seen for" in done.stderr and "trainer" in done.stderr
    assert (tmp_path / "a.lowtide").exists()
