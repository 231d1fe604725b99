"""Which versions of other libraries can count: LLaMA-Factory refuses to start with newer ones than it knows."""

from dataclasses import replace

from trimtab.checks.keys.table import load_table, read_version
from trimtab.checks.kinds.kind import Surroundings

NEWEST = {"transformers": (5, 8, 0), "accelerate": (1, 15, 0), "peft": (0, 20, 0), "trl": (0, 24, 0)}
"""`check_dependencies` of src/llamafactory/extras/misc.py at the version of our table."""


def accepted(surroundings: Surroundings) -> Surroundings:
    """The surroundings without versions that cannot be those of the run; of a newer LLaMA-Factory nobody knows them."""
    versions = surroundings.versions
    own = versions.get("llamafactory")
    if own is not None and own > read_version(load_table("llamafactory").version):
        return surroundings
    kept = {
        library: version
        for library, version in versions.items()
        if library not in NEWEST or version <= NEWEST[library]
    }
    return surroundings if len(kept) == len(versions) else replace(surroundings, versions=kept)
