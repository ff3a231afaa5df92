# SPDX-License-Identifier: Apache-2.0
"""Actors on the workers of a Dask cluster, each made again on another worker when its own is lost."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from distributed import default_client

from . import _errors

POLL_S = 0.5
"""How often a call that waits for a worker checks whether the worker is still there."""


class Slot:
    """A place for an actor: names for messages, the size of what it holds, and the actor, None while there is none."""

    def __init__(self, names: list[str], size: int) -> None:
        self.names, self.size = names, size
        self.worker = ""
        self.actor: Any = None
        self.made: Any = None  # the future of the actor; its status shows whether the actor exists

    def drop(self) -> None:
        self.actor = self.made = None


class Held:
    """
    An actor, on a worker. A call is one bytes object in each direction: distributed serialises each argument by itself,
    which takes longer than the rest of a small call. Exceptions of the work are answers, so any other counts as the loss
    of the worker.
    """

    def ready(self) -> bool:
        return True

    def call(self, packed: bytes) -> bytes:
        method, arguments = pickle.loads(packed)
        try:
            answer = getattr(self, method)(*arguments)
        except Exception as raised:
            answer = raised
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)


def begin(slot: Slot, method: str, *arguments: Any) -> Any:
    """Start a call of a method of a slot's actor; Actors.ask waits for the answer."""
    return slot.actor.call(pickle.dumps((method, arguments), pickle.HIGHEST_PROTOCOL))


class Actors:
    """
    make(slot, worker) submits a slot's actor, a Held; lost(slot) is the error when no worker takes it within patience
    seconds of its loss.
    """

    def __init__(
        self,
        client: Any,
        patience: float,
        make: Callable[[Any, str], Any],
        lost: Callable[[Any], Exception],
    ) -> None:
        self.client, self._patience, self._make, self._lost = client, patience, make, lost
        self.slots: Sequence[Any] = []
        if default_client() is not client:
            raise _errors.ArgumentError("client: actors need Dask's current client, the one that was created last")

    def alive(self) -> list[str]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"])

    def place_all(self, slots: Sequence[Any]) -> None:
        self.slots = slots
        for slot in slots:
            self._retry(slot, partial(self._place, slot))

    def _place(self, slot: Slot) -> None:
        """Make a slot's actor on the live worker that holds least."""
        load = dict.fromkeys(self.alive(), 0)
        for other in self.slots:
            if other.actor is not None and other.worker in load:
                load[other.worker] += other.size
        if not load:
            raise OSError("no worker is left")
        slot.worker = min(load, key=lambda name: load[name])
        slot.made = self._make(slot, slot.worker)
        actor = self._wait(slot, slot.made)
        self._wait(slot, actor.ready())
        slot.actor = actor

    def _wait(self, slot: Slot, future: Any) -> Any:
        """
        The result of a future; OSError if the worker that makes it is lost, or has lost the actor: a call of an actor
        that is gone may never answer.
        """
        while True:
            try:
                return future.result(timeout=POLL_S)
            except TimeoutError:
                if slot.made.status not in ("pending", "finished") or slot.worker not in self.alive():
                    raise OSError(f"worker {slot.worker} was lost") from None

    def _retry(self, slot: Slot, step: Callable[[], Any]) -> Any:
        """What step returns. It is repeated while workers are lost in it and patience lasts, from the first loss."""
        end: float | None = None
        while True:
            try:
                return step()
            except _errors.Error:
                raise  # of making the actor
            except Exception as lost:  # distributed raises many kinds for a lost worker
                slot.drop()
                end = end or time.monotonic() + self._patience
                if time.monotonic() >= end:
                    raise self._lost(slot) from lost
                time.sleep(POLL_S)

    def ask(
        self,
        start: Callable[[Any], Any],
        slots: Sequence[Any] | None = None,
        again: Callable[[Any], Any] | None = None,
    ) -> Iterator[tuple[Any, Callable[[], Any]]]:
        """
        begin() a call on the actor of each slot (None: all); the calls run at the same time. Yields each slot, and a
        function that waits for its answer and returns it, or raises it if it is an exception. again: a call that an
        actor gets first after it was made again.
        """
        running = []
        for slot in self.slots if slots is None else slots:
            try:
                running.append((slot, None if slot.actor is None else start(slot)))
            except Exception:
                slot.drop()
                running.append((slot, None))
        for slot, started in running:
            yield slot, partial(self._finish, slot, started, start, again)

    def _finish(self, slot: Any, running: Any, start: Callable[[Any], Any], again: Callable[[Any], Any] | None) -> Any:
        def step() -> Any:
            nonlocal running
            started, running = running, None
            if slot.actor is None:
                self._place(slot)
                started = None
                if again is not None:
                    self._wait(slot, again(slot))
            return self._wait(slot, started if started is not None else start(slot))

        answer = pickle.loads(self._retry(slot, step))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        for slot in self.slots:
            slot.drop()
