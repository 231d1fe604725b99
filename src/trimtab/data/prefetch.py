"""Prepares the next global batches while the current one trains."""

import queue
import threading
from collections.abc import Generator, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


def prefetched(items: Iterator[Item], *, ahead: int) -> Generator[Item, None, None]:
    """The same items in the same order, up to `ahead` of them made in advance by a thread.

    What the iterator raises is raised here, when its turn comes. Closing this generator ends the thread.
    """
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(ahead)
    closing = threading.Event()
    thread = threading.Thread(target=_fill, args=(items, ready, closing), daemon=True, name="window prefetch")
    thread.start()
    try:
        while True:
            kind, value = ready.get()
            if kind == "item":
                yield value
            elif kind == "error":
                raise value
            else:
                return
    finally:
        closing.set()
        thread.join()


def _fill(items: Iterator[Any], ready: "queue.Queue[Any]", closing: threading.Event) -> None:
    try:
        for item in items:
            if not _put(ready, ("item", item), closing):
                return
        _put(ready, ("end", None), closing)
    except BaseException as error:  # whatever it is, it belongs to the thread that asked for the item
        _put(ready, ("error", error), closing)
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()


def _put(ready: "queue.Queue[Any]", message: tuple[str, Any], closing: threading.Event) -> bool:
    """Waits for room; False where nobody wants the message any more."""
    while not closing.is_set():
        try:
            ready.put(message, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False
