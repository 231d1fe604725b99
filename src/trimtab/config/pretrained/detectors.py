"""What config.json says of a detector in a folder, as keys of `model`."""

import json
from pathlib import Path

from trimtab.config.detector_model import DetectorModel
from trimtab.config.pretrained.module_shapes import NOT_KEPT
from trimtab.config.pretrained.place import CONFIG
from trimtab.config.pretrained.shapes import read_settings
from trimtab.errors import input_error

OF_CATEGORIES = ("id2label", "label2id", "num_labels", "architectures", "model_type")
"""Settings that the run has of its own."""


def with_detector_files(model: DetectorModel, path: str) -> DetectorModel:
    """The model with an absolute path, and with what config.json there says unless the recipe has recorded it. Raises
    InputError where the folder is none of this architecture."""
    if model.settings:
        return model.model_copy(update={"path": path})
    settings = read_settings(Path(path) / CONFIG)
    kind = settings.get("model_type")
    if kind != model.architecture:
        raise input_error(
            f"model.path: {path} is no model of this architecture",
            got=f"model_type {kind}",
            allowed=model.architecture,
            fix=f"set `model.architecture: {kind}`, if it is one of d_fine, rt_detr_v2, deimv2 and detr",
        )
    kept = {key: value for key, value in settings.items() if key not in (*NOT_KEPT, *OF_CATEGORIES)}
    update = {"path": path, "settings": json.dumps(kept, sort_keys=True, ensure_ascii=False)}
    sizes = {"dim": "d_model", "queries": "num_queries", "decoder_layers": "decoder_layers"}
    found = {key: settings[name] for key, name in sizes.items() if type(settings.get(name)) is int}
    return model.model_copy(update={**update, **found})
