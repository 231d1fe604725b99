"""Batch, length, loss and data options of TrainingArguments."""

from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_each
from trimtab.checks.kinds.written import Written


def put_batch(concepts: Concepts, written: Written) -> None:
    """Tells how large a step is and how many there are."""
    micro = written.settings.get("per_gpu_train_batch_size") or written.get("per_device_train_batch_size")
    put(concepts, "micro_batch", micro)
    put(concepts, "batch_unit", micro, "examples")
    put_each(
        concepts,
        written,
        {"accumulation": "gradient_accumulation_steps", "batch_finder": "auto_find_batch_size"},
    )
    steps = written.get("max_steps")
    number = as_type(steps.value, int) if steps else None
    if number is not None and number > 0:
        put(concepts, "steps", steps)
    elif number is not None:
        put(concepts, "epochs", written.get("num_train_epochs"))
    _put_grouping(concepts, written)


def put_loss(concepts: Concepts, written: Written) -> None:
    """Tells what changes the loss."""
    put_each(
        concepts,
        written,
        {"label_smoothing": "label_smoothing_factor", "neftune_alpha": "neftune_noise_alpha"},
    )
    liger = written.get("use_liger_kernel")
    if liger is not None and liger.value is True:
        put(concepts, "fused_loss", liger, "liger")


def put_data(concepts: Concepts, written: Written) -> None:
    """Tells how data are loaded."""
    put_each(
        concepts,
        written,
        {
            "seed": "seed",
            "dataloader_workers": "dataloader_num_workers",
            "pin_memory": "dataloader_pin_memory",
        },
    )
    if written.value("use_cpu") is True or written.value("no_cuda") is True:
        put(concepts, "pin_memory", written.settings.get("use_cpu") or written.settings.get("no_cuda"), False)


def _put_grouping(concepts: Concepts, written: Written) -> None:
    old = written.settings.get("group_by_length")
    if old is not None:
        put(concepts, "group_by_length", old)
    elif (
        "group_by_length" not in written.hidden
        and (new := written.get("train_sampling_strategy")) is not None
    ):
        put(concepts, "group_by_length", new, new.value == "group_by_length")
