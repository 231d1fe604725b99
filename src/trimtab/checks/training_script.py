"""Whether a script trains, as far as its calls show it: for rules about what hurts only there."""

from trimtab.checks.description import Description
from trimtab.checks.own_key import calls_of

_CONFIGURATIONS = frozenset(
    {"SFTConfig", "DPOConfig", "KTOConfig", "RewardConfig", "GRPOConfig", "RLOOConfig"}
)
_NO_MODELS = ("Tokenizer", "Processor", "Config", "FeatureExtractor", "Dataset")


def trains(run: Description) -> bool:
    """A Trainer, its arguments, or a backward pass; every file that is no script is one of training."""
    return run.document.syntax != "python" or any(
        call.name.endswith(("Trainer", "TrainingArguments"))
        or call.name == "backward"
        or call.name in _CONFIGURATIONS
        for call in run.document.calls
    )


def loads_model(run: Description) -> bool:
    """Whether the script makes a model: `AutoModelForCausalLM.from_pretrained`, and not only a tokenizer."""
    makers = [call.qualifier.rpartition(".")[2] for call in calls_of(run, "from_pretrained", "from_config")]
    return any(
        ("Model" in name or "For" in name) and not any(part in name for part in _NO_MODELS) for name in makers
    )
