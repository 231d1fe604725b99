"""Where a pretrained model is: a folder, a GGUF file, or a name of the Hugging Face hub that was downloaded before.

Nothing is downloaded here, so that a recipe never waits for a network, and means the same on every machine.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import InputError, input_error

CONFIG = "config.json"
GGUF = ".gguf"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
"""OWNER/NAME."""
KEY = "model.path"


@dataclass(frozen=True, slots=True)
class Place:
    """A pretrained model on this machine."""

    path: Path
    """A folder in the form of Hugging Face, or a GGUF file."""

    @property
    def is_gguf(self) -> bool:
        """Whether it is one file with everything in it."""
        return self.path.suffix == GGUF


def find_pretrained(name: str, *, folder: Path, key: str = KEY) -> Place:
    """The model that a recipe names; a relative path starts from `folder`. Raises InputError, with what is there, where
    there is none."""
    place = Path(os.path.normpath(folder / Path(name).expanduser()))
    if place.is_file() and place.suffix == GGUF:
        return Place(place)
    if place.is_dir():
        if (place / CONFIG).is_file():
            return Place(place)
        files = sorted(place.glob("*" + GGUF))
        if len(files) == 1:
            return Place(files[0])
        raise _nothing_in(place, files, key=key)
    if place.exists():
        raise input_error(
            f"{key}: {name} is a file of another kind",
            got=place.suffix or "a file without an ending",
            allowed="a folder with config.json and *.safetensors, a .gguf file, or OWNER/NAME of the hub",
            fix="name the folder that the file is in",
        )
    if HUB_NAME.fullmatch(name) and (cached := _cached(name)) is not None:
        return Place(cached)
    raise _no_such(name, place, key=key)


def where_it_is(name: str, *, folder: Path) -> Path:
    """The place of what a recipe names, as far as it is known: that of a hub's name which was downloaded, else the path
    itself, which need not exist."""
    place = Path(os.path.normpath(folder / Path(name).expanduser()))
    if not place.exists() and HUB_NAME.fullmatch(name) and (cached := _cached(name)) is not None:
        return cached
    return place


def refuse_unknown_name(name: str, *, wanted: str) -> None:
    """Raises InputError for a name of the hub that is not downloaded, where neither a run nor anything else is at such
    a path; `wanted` says what is allowed."""
    place = Path(name)
    if (
        HUB_NAME.fullmatch(name)
        and not place.parent.exists()
        and where_it_is(name, folder=Path.cwd()) == place.absolute()
    ):
        raise input_error(
            f"there is no model {name}",
            got=f"no folder at this path, and no such model among those downloaded to {hub_cache()}",
            allowed=wanted,
            fix=f"`hf download {name}`; trimtab itself downloads nothing",
        )


def hub_cache() -> Path:
    """Where the libraries of Hugging Face keep what they download; the same variables move it."""
    if given := os.environ.get("HF_HUB_CACHE"):
        return Path(given).expanduser()
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"
    )
    return Path(home).expanduser() / "hub"


def _cached(name: str) -> Path | None:
    """The newest downloaded snapshot of a model of the hub, `main` where that is known."""
    kept = hub_cache() / f"models--{name.replace('/', '--')}"
    with suppress(OSError):  # of a download of another revision alone
        revision = (kept / "refs" / "main").read_text(encoding="utf-8").strip()
        if (kept / "snapshots" / revision / CONFIG).is_file():
            return kept / "snapshots" / revision
    try:
        found = [each for each in (kept / "snapshots").iterdir() if (each / CONFIG).is_file()]
    except OSError:
        return None
    return found[0] if len(found) == 1 else None


def _nothing_in(place: Path, files: list[Path], *, key: str) -> InputError:
    names = [each.name for each in files] or sorted(each.name for each in place.iterdir())[:5]
    return input_error(
        f"{key}: {place} has no {CONFIG}",
        got=", ".join(names) or "an empty folder",
        allowed=f"a folder with {CONFIG}, weights in *.safetensors and tokenizer.json; or one .gguf file",
        fix="name one of the files"
        if files
        else "name the folder that `save_pretrained` or `hf download` wrote",
    )


def _no_such(name: str, place: Path, *, key: str) -> InputError:
    hub = HUB_NAME.fullmatch(name) is not None
    return input_error(
        f"{key}: there is no model {name}",
        got=f"no folder {place}, and no such model among those downloaded to {hub_cache()}"
        if hub
        else f"no folder or file {place}",
        allowed="a folder with config.json, a .gguf file, or OWNER/NAME of the hub that is downloaded",
        fix=f"`hf download {name}`" if hub else "name the folder that has config.json in it",
    )
