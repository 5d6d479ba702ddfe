"""The builds of a sweep on a Dask cluster: many computers, or many processes of a computer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from usmp.exploration.processes import Evaluate, IsInterrupted, WorkersLost
from usmp.support.distribution import install_command

_CONNECT_SECONDS = 10
_TICK_SECONDS = 0.1


class NoCluster(RuntimeError):
    """The error of missing Dask, or of a cluster that cannot be used; the message has advice."""


def on_cluster(
    address: str,
    evaluate: Evaluate,
    shared: Any,
    tasks: Sequence[tuple[str, ...]],
    is_interrupted: IsInterrupted,
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield each task with its result, in the order of completion.

    Parameters
    ----------
    address
        address of the scheduler, as "tcp://10.0.0.1:8786".
    evaluate, shared, tasks, is_interrupted
        parameters of `in_processes`.

    Raises
    ------
    NoCluster
        Dask is not installed, there is no scheduler at the address, or it has no workers.
    WorkersLost
        a task fails on the cluster, for example because workers ended or lack usmp.
    KeyboardInterrupt
        `is_interrupted` returns true.
    """
    with _connected(address) as client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise NoCluster(
                f"the scheduler at {address} has no workers; start some, as in "
                f"dask worker {address}"
            )
        # Submit the data as a task, so that the scheduler can restore them if a worker is lost.
        data = client.submit(_same, shared, pure=False)
        pending = {client.submit(evaluate, data, task, pure=False): task for task in tasks}
        try:
            while pending:
                if is_interrupted():
                    raise KeyboardInterrupt
                done = [future for future in pending if future.done()]
                for future in done:
                    task = pending.pop(future)
                    _check(future, address)
                    yield task, future.result()
                if not done:
                    time.sleep(_TICK_SECONDS)
        finally:
            client.cancel([data, *pending])


def _connected(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise NoCluster(
            "--scheduler needs Dask, which is not installed; install it with: "
            f"{install_command('explore')}"
        ) from error
    try:
        return Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise NoCluster(
            f"no scheduler of Dask answers at {address} in {_CONNECT_SECONDS} seconds; is the "
            "address that which dask scheduler printed, as tcp://10.0.0.1:8786?"
        ) from error


def _check(future: Any, address: str) -> None:
    if future.status == "finished":
        return
    error = future.exception() if future.status == "error" else None
    raise WorkersLost(
        f"the cluster at {address} could not build a configuration ({future.status}"
        f"{'' if error is None else f': {type(error).__name__}: {error}'}); every worker needs "
        "this version of usmp, and memory for a build at a time"
    ) from error


def _same(shared: Any) -> Any:
    return shared
