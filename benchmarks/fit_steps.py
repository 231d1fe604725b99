"""Steps of `fit_planned.py` and `fit_proposals.py` after which nothing is compiled or recorded any more.

A step compiles and records where its shape is new: the number of its micro-batches, and of their full documents. What
is timed has shapes that are known by then.
"""

import time
from collections import Counter
from itertools import islice

FIRST_STEPS = 2
"""After which the optimizer has its states."""
MOST_WARM_STEPS = 24
KNOWN_STEPS = {True: 5, False: 2}
"""Steps of a shape that are taken before others of it are measured. A recorded one is taken plainly three times, then
recorded, and launched."""
MOST_LOOKED_AT = 60
"""Global batches among which steps of known shapes are looked for."""


class Steps:
    """The steps of a run, and which of their shapes run as they will from now on."""

    def __init__(self, parts):
        self.parts, self.stream, self.taken = parts, parts.stream.batches(0), Counter()

    @property
    def recordings(self):
        """How many shapes have been recorded."""
        graphs = self.parts.stepper.graphs
        return 0 if graphs is None else len(graphs.recordings)

    def take(self, packs=None):
        """One step, of given packs or of the next ones; gives the packs."""
        packs = next(self.stream)[1] if packs is None else packs
        self.parts.model.train()
        self.parts.stepper.reseed(self.taken.total())
        self.parts.stepper.take_step(packs, learning_rate=1e-5)
        self.taken[shape_of(packs)] += 1
        return packs

    def knows(self, packs):
        """Whether a step of these packs neither compiles nor records any more."""
        graphs = self.parts.stepper.graphs
        recorded = graphs is not None and graphs.given_up is None
        if not recorded and self.parts.recipe.step.compile == "off":
            return True
        return self.taken[shape_of(packs)] >= KNOWN_STEPS[recorded]

    def warm_up(self, after=lambda number: None):
        """Takes steps until one has a known shape, and calls `after` with the number of each from 1; gives the packs of
        the last."""
        for number in range(1, MOST_WARM_STEPS + 1):
            packs = self.take()
            after(number)
            if number > FIRST_STEPS and self.knows(packs):
                return packs
        raise RuntimeError(f"no shape is known after {MOST_WARM_STEPS} steps of {len(self.taken)} shapes")

    def known(self, count):
        """The packs of the next so many steps of known shapes; those of other shapes are left out."""
        seen = (next(self.stream)[1] for _ in range(MOST_LOOKED_AT))
        found = list(islice((packs for packs in seen if self.knows(packs)), count))
        if len(found) < count:
            raise RuntimeError(
                f"{len(found)} of {MOST_LOOKED_AT} steps have known shapes; needed are {count}"
            )
        return found

    def seconds(self, packs):
        """What steps of these packs take together."""
        synchronize()
        begun = time.perf_counter()
        for each in packs:
            self.take(each)
        synchronize()
        return time.perf_counter() - begun


def shape_of(packs):
    """By which steps are compiled and recorded."""
    return tuple(pack.static_key for pack in packs)


def slots_of(packs):
    """The slots of a step's micro-batches."""
    first = packs[0]
    if hasattr(first, "target"):
        shape = {"target": len(first.target.ids), "source": len(first.source.ids)}
    else:
        shape = {"target": 0, "source": len(first.text.ids)}
    return {**shape, "micro_batches": len(packs)}


def peaks():
    import torch

    stats = torch.cuda.memory_stats()
    return {
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "held": torch.cuda.memory_allocated(),
        "requested": stats.get("requested_bytes.all.peak", 0),
        "inactive": stats.get("inactive_split_bytes.all.peak", 0),
        "segments": stats.get("segment.all.peak", 0),
        "retries": stats.get("num_alloc_retries", 0),
    }


def synchronize():
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def emptied():
    """Empties the cache of the allocator and forgets the peaks."""
    import torch

    synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
