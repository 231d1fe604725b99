"""The files of source and target where a tool lists them by themselves: Marian's two lists, Sockeye's four options."""

from trimtab.checks.description import Description
from trimtab.checks.listed import text_list
from trimtab.checks.record import record
from trimtab.checks.setting import Setting

_KEYS = {
    "training": ("train-sets", ("source", "target")),
    "validation": ("valid-sets", ("validation-source", "validation-target")),
}


@record
class FilePair:
    """One pair of files; each side with the setting that names it."""

    source: str
    target: str
    source_setting: Setting
    target_setting: Setting


def training_pair(run: Description) -> FilePair | None:
    """The pair that is trained on; None where the tool has no such options, or they name other than two files."""
    return _pair(run, "training")


def validation_pair(run: Description) -> FilePair | None:
    """The pair that is validated on."""
    return _pair(run, "validation")


def _pair(run: Description, which: str) -> FilePair | None:
    together, sides = _KEYS[which]
    if run.tool == "marian":
        setting = run.written(together)
        names = text_list(setting.value) if setting is not None else None
        if setting is None or names is None or len(names) != 2:
            return None
        return FilePair(names[0], names[1], setting, setting)
    if run.tool != "sockeye":
        return None
    source, target = (run.written(side) or run.written(side.replace("-", "_")) for side in sides)
    if source is None or target is None:
        return None
    if not isinstance(source.value, str) or not isinstance(target.value, str):
        return None
    return FilePair(source.value, target.value, source, target)
