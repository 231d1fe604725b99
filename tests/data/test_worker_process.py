import multiprocessing
import os

import pytest

from tests.data.fake_feed import fake_feed
from trimtab.data.loader import chunks
from trimtab.data.worker_process import context, started
from trimtab.errors import RunFailed


class DefinedInTheScript:
    """Stands for a part whose class no worker can import."""

    def __reduce__(self):
        raise TypeError("cannot be sent")


def test_a_part_that_cannot_be_sent_to_workers_is_named_before_anything_is_read():
    with pytest.raises(RunFailed, match="cannot be sent"):
        next(chunks(fake_feed(pipeline=_with_apply(DefinedInTheScript())), from_position=0, workers=1))
    assert not multiprocessing.active_children()


def _with_apply(part):
    part.needs_random = False
    part.apply = lambda source, target, rng: (source, target)
    return part


def test_a_worker_is_no_fork_of_this_process_and_ends_with_it():
    receiver, sender = context().Pipe(duplex=False)
    with sender:
        process = started(tell_parent, sender, name="told")
    assert receiver.recv() != os.getpid()
    process.join(20)
    assert (process.exitcode, process.daemon, process.name) == (0, True, "told")


def tell_parent(pipe):
    pipe.send(os.getppid())
