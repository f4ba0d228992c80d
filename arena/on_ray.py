"""Playing matches as Ray tasks: on this machine, or on all nodes of a cluster.

A task plays a batch as a worker process does, and returns its rows. It knows no database: what comes of
it is written by the process that handed it out, once, whatever becomes of workers and nodes meanwhile.
"""

import logging
import os
import secrets
import signal
import socket
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

from agents import loading
from agents.build import UnplayableError
from agents.plugin import source_hash
from arena.children import signals_held_back
from arena.errors import UserError
from arena.printable import plain
from arena.schedule import Place
from arena.workers import SHARE_S, Batch, Crew, Setup, Share, StopFlag, Table, WorkerDied

DEATHS = 10
"""A batch whose worker or node is lost so often ends the run: that is no accident any more. This and the
next two are this project's choice."""
KNOCK_S = 5.0
"""What is at an address takes a connection within so long, and speaks as Ray."""
STORE_BYTES = 100 * 2**20
"""Of memory for finished tasks, where Ray is started here: a task returns some 100 kB."""
OURS = {
    # Loopback is what Ray otherwise takes on macOS and Windows only.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
"""The environment in which a Ray is started that is for this run alone."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_py_gcs_connect_timeout_s": f"{KNOCK_S:.0f}",
}
TRIES = "RAY_gcs_server_port_wait_time_s"
"""So often a Ray is asked that is joined, for about three times KNOCK_S where a server is silent."""


@contextmanager
def crew_on_ray(setup: Setup, address: str | None, workers: int | None) -> Iterator[tuple[int, Crew]]:
    """Join the Ray at `address`, or start one on this machine that ends with the context; give how many
    tasks to have under way, and the crew that plays them.

    `workers`: tasks that are played at once; None: as many as there are CPUs. Raises UserError where
    there is no Ray at `address` that can be joined, or none that has a CPU.
    """
    os.environ.update({name: text for name, text in QUIET.items() if name not in os.environ})
    if address is None:
        ours = OURS | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
        os.environ.update({name: text for name, text in ours.items() if name not in os.environ})
    else:
        _knock(address)
    import ray

    # It would tell of every lost worker on standard output, which is for results.
    ray._private.worker._worker_logs_enabled = False
    try:
        with loading.shown("Ray"):
            _connect(address, workers)
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if not cpus and workers is None:
            raise UserError(
                f"the Ray at {address} has no CPU for tasks: give it a node with some, or say with "
                "--workers how many tasks shall wait for one"
            )
        # Two a CPU, so that none waits for its next; Ray plays no more of them than it has CPUs.
        at_once = workers if workers and address is not None else 2 * cpus
        yield at_once, _Tasks(setup).play
    finally:
        ray.shutdown()


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return the parts of an address; None for `auto`, the Ray that runs on this machine. Raises
    UserError for anything else."""
    if address == "auto":
        return None
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in address:
        raise UserError(
            f"--ray-address: {plain(address)!r} is no HOST:PORT, such as 10.0.0.1:6379; auto means the "
            "Ray that runs on this machine"
        )
    return host.strip("[]"), int(port)


def _knock(address: str) -> None:
    """Raise UserError where nothing takes a connection at `address`: Ray would try for minutes."""
    if (at := host_and_port(address)) is None:
        return
    try:
        socket.create_connection(at, KNOCK_S).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"--ray-address: nothing answers at {plain(address)} ({error}): start Ray there (ray start "
            "--head), or name the port that it told"
        ) from None


def _connect(address: str | None, workers: int | None) -> None:
    """Start or join Ray. SIGTERM stays what it was for this process, though Ray sets it."""
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    here: dict[str, Any] = {"num_cpus": workers, "num_gpus": 0, "object_store_memory": STORE_BYTES}
    here |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        if address is not None:
            os.environ[TRIES] = "2"  # not for a Ray that starts, which has to be waited for
            ray.init(address, **quiet)
            return
        with signals_held_back():  # from Ray for good: this process answers a signal to all
            ray.init("local", **here, **quiet)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        said, _, trace = str(error.__cause__ or error).partition("Traceback")
        why = " ".join((said + trace.rstrip().rpartition("\n")[2]).split())
        told = "no Ray can be started here" if address is None else f"--ray-address: no Ray at {address}"
        raise UserError(f"{told}: {why}") from error
    finally:
        os.environ.pop(TRIES, None)
        if main:
            signal.signal(signal.SIGTERM, before)


class _Tasks:
    """Batches as tasks of a Ray that was joined."""

    def __init__(self, setup: Setup) -> None:
        import ray

        self._plugins = {v for v, (spec, _) in setup.agents.items() if spec.kind == "plugin"}
        # In a tuple Ray leaves it a reference, which each worker follows once.
        self._told = ((ray.put(setup),), release())
        # Tried again here alone, where a plug-in that ends its process is told from a node that is lost.
        self._task = ray.remote(num_cpus=1, max_retries=0)(_play)
        self._deaths = Counter[Place]()

    def play(self, batches: deque[Batch], workers: int, stop: StopFlag) -> Generator[list[Share]]:
        """Play `batches` with `workers` tasks under way, by the contract of `play_in_processes`.

        A batch whose worker or node was lost is put back; where a plug-in may have ended its process,
        WorkerDied is raised once all others are played.
        """
        import ray

        under_way: dict[Any, Batch] = {}
        suspects: list[Batch] = []
        try:
            while under_way or (batches and not stop.is_set()):
                while batches and len(under_way) < workers and not stop.is_set():
                    batch = batches.popleft()
                    under_way[self._task.remote(*self._told, batch)] = batch
                stopping = stop.is_set()
                first, rest = ray.wait([*under_way], timeout=2 * SHARE_S if stopping else SHARE_S)
                finished = first + (ray.wait(rest, num_returns=len(rest), timeout=0)[0] if rest else [])
                shares = []
                for task in finished:
                    batch = under_way.pop(task)
                    try:
                        shares.append(ray.get(task))
                    except ray.exceptions.RayTaskError as error:
                        raise error.cause from None  # not lost: our code raised it
                    except ray.exceptions.RayError as error:
                        (suspects if self._may_be_blamed(batch, error) else batches).append(batch)
                yield shares
                if stopping and not finished:
                    break  # what is not there after a share's time hangs, or waits for a CPU
        finally:
            for task in under_way:
                ray.cancel(task, force=True)
        if suspects:
            raise WorkerDied(suspects)

    def _may_be_blamed(self, batch: Batch, error: Exception) -> bool:
        """Whether a plug-in was at play when the worker of `batch` ended. Raises WorkerDied for a batch
        that is lost again and again through nobody's doing."""
        import ray

        crashed = isinstance(error, ray.exceptions.WorkerCrashedError)
        if crashed and not self._plugins.isdisjoint(batch[0].versions):
            return True
        self._deaths[batch[0]] += 1
        if self._deaths[batch[0]] >= DEATHS:
            words = (
                f"Ray lost the same matches {DEATHS} times, at last so: {' '.join(str(error).split())}"
            )
            raise WorkerDied([], words) from error
        return False


def release() -> str:
    """Return what tells this code from any other that plays: hexadecimal digits."""
    return "".join(source_hash(import_module(room)) for room in ("scenarios", "agents", "arena"))


@lru_cache(1)
def _table(setup: tuple[Any], expected: str) -> Table:
    """Return where this worker plays, made once for a run."""
    import ray

    if release() != expected:
        raise UnplayableError(
            "another bargaining-arena is installed than where the tournament runs: install the same"
        )
    table = Table(ray.get(setup[0]))
    table.worker = f"{socket.gethostname()}:{os.getpid()}"
    return table


class _Never:
    """What a task asks whether to stop: it is over soon, and cancelled where it is not."""

    def is_set(self) -> bool:
        return False


def _play(setup: tuple[Any], expected: str, batch: Batch) -> Share:
    """The task: play a batch for a share's time."""
    try:
        return _table(setup, expected).play_batch(batch, _Never())
    except UnplayableError as error:
        raise UnplayableError(f"on node {socket.gethostname()}: {error}") from None
    except KeyboardInterrupt:
        os._exit(1)  # a plug-in raised it: as if it had ended the process
