"""The lock of a run's folder: held by one process, let go of however that ends, and seen by others."""

import errno
import fcntl
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arena import run_lock
from arena.errors import UserError
from arena.run_lock import LOCK, locked, under_way

HOLD = """
import sys, time
from pathlib import Path
from arena.run_lock import locked
with locked(Path(sys.argv[1]), "arena.db"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_is_let_go_of_when_its_process_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "it"
    assert under_way(folder, "arena.db") is None
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"held\n"
            assert under_way(folder, "arena.db") is True
            with pytest.raises(UserError, match="under way in another process"), locked(folder, "x.db"):
                pass
            assert under_way(folder, "arena.db") is True, "whoever was refused has left no trace"
        finally:
            child.send_signal(signal.SIGKILL)
    assert under_way(folder, str(tmp_path / "arena.db")) is False
    with locked(folder, "arena.db"):
        assert under_way(folder, "arena.db") is True


def test_a_look_at_a_lock_keeps_no_run_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that lasts until the start has met it."""
    with locked(tmp_path, "arena.db"):
        pass
    watcher = (tmp_path / LOCK).open("rb")
    fcntl.flock(watcher, fcntl.LOCK_SH | fcntl.LOCK_NB)

    class Clock:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def sleep(seconds: float) -> None:
            watcher.close()

    monkeypatch.setattr(run_lock, "time", Clock)
    with locked(tmp_path, "arena.db"):
        assert watcher.closed


def test_of_another_machine_or_record_a_lock_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with locked(tmp_path, "postgresql://host/one"):
        pass
    assert under_way(tmp_path, "postgresql://host/one") is False
    assert under_way(tmp_path, "postgresql://host/two") is None
    assert under_way(Path("\0"), "arena.db") is None
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    assert under_way(tmp_path, "postgresql://host/one") is None
    (tmp_path / LOCK).write_text("")
    assert under_way(tmp_path, "postgresql://host/one") is None, "as an earlier release left it"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_does_not_keep_a_run_from_starting(tmp_path: Path) -> None:
    (tmp_path / LOCK).symlink_to("/dev/full")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        (tmp_path / LOCK).write_bytes(b"x")
    with locked(tmp_path, "arena.db"):
        pass
