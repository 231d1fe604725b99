"""Which trainable parameters get no gradient under activation checkpointing?

    pip install ".[train]" transformers accelerate peft
    python experiments/reentrant_gradients.py

Reentrant checkpointing (`use_reentrant=True`) runs a block without recording and gives its output a gradient only if
an *input* needs one. With a frozen embedding no input does, so blocks that are to be trained learn nothing. The
experiment goes through every combination of: embedding frozen or trained; `use_reentrant` True, False or not written;
inputs made to need gradients (`enable_input_require_grads`) or not; and no adapter, a hand-made one, or LoRA of PEFT.
On blocks of plain torch, and on a small Llama and a small ViT of transformers with `gradient_checkpointing_enable`,
as its Trainer calls it. What "not written" means, and whether inputs are made to need gradients unasked, depends on
the version of transformers; the files beside this one say which.
"""

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from experiment import Claim, Experiment, Numbers, installed, main
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

REENTRANT: dict[str, dict[str, bool]] = {
    "True": {"use_reentrant": True},
    "False": {"use_reentrant": False},
    "not written": {},
}
DIM, VOCABULARY, BLOCKS = 32, 64, 2
Setup = Callable[[Mapping[str, str]], tuple[nn.Module, Callable[[], Tensor]]]
"""A model as a case wants it, and its loss."""


class Blocks(nn.Module):
    """A language model of plain torch: an embedding, checkpointed blocks, a norm and an output matrix."""

    def __init__(self, checkpointing: Mapping[str, bool]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, DIM)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, DIM), nn.GELU()) for _ in range(BLOCKS)
        )
        self.norm = nn.LayerNorm(DIM)
        self.output = nn.Linear(DIM, VOCABULARY)
        self.checkpointing = dict(checkpointing)

    def get_input_embeddings(self) -> nn.Embedding:
        """As models of transformers call it."""
        return self.embedding

    def forward(self, ids: Tensor) -> Tensor:
        """Logits."""
        x = self.embedding(ids)
        for block in self.blocks:
            x = x + checkpoint(block, x, **self.checkpointing)
        return self.output(self.norm(x))


class Adapter(nn.Module):
    """LoRA by hand: a frozen linear map and a trained product of two thin ones."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear
        self.down = nn.Linear(linear.in_features, 4, bias=False)
        self.up = nn.Linear(4, linear.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The map and its correction."""
        return self.linear(x) + self.up(self.down(x))


def measure(seed: int, quick: bool) -> Numbers:
    """For each case how many trainable parameters have no gradient, and their names."""
    warnings.simplefilter("ignore")
    setups: dict[str, Setup] = {"torch": on_torch}
    if installed("transformers") and not quick:
        setups |= {"transformers Llama": on_llama, "transformers ViT": on_vit}
    found: Numbers = {}
    for library, setup in setups.items():
        for case in cases(library):
            torch.manual_seed(seed)
            found[" | ".join([library, *case.values()])] = case | without_gradient(*setup(case))
    return found


def cases(library: str) -> Iterator[dict[str, str]]:
    """Every combination."""
    adapters = ["none"] if library.endswith("ViT") else ["none", "by hand"]
    if library.endswith("Llama") and installed("peft"):
        adapters += ["PEFT", "PEFT after checkpointing"]
    for adapter, embedding, reentrant, inputs in itertools.product(
        adapters, ("trained", "frozen"), REENTRANT, ("inputs as they are", "inputs require gradients")
    ):
        yield {"adapter": adapter, "embedding": embedding, "use_reentrant": reentrant, "inputs": inputs}


def on_torch(case: Mapping[str, str]) -> tuple[nn.Module, Callable[[], Tensor]]:
    """Blocks of plain torch, adapted and frozen as the case says."""
    model = Blocks(REENTRANT[case["use_reentrant"]])
    if case["adapter"] == "by hand":
        model.requires_grad_(False)
        for block in model.blocks:
            block[1] = Adapter(block[1])
    freeze_or_train(model, case)
    if case["inputs"] == "inputs require gradients":
        model.embedding.register_forward_hook(lambda _, __, output: output.requires_grad_(True))
    ids = torch.arange(12).reshape(2, 6)
    return model, lambda: F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())


def on_llama(case: Mapping[str, str]) -> tuple[nn.Module, Callable[[], Tensor]]:
    """A small Llama in the order of its Trainer: adapter first, then checkpointing, unless the case says otherwise."""
    import transformers

    transformers.logging.set_verbosity_error()
    sizes = {"hidden_size": DIM, "intermediate_size": 64, "num_attention_heads": 2, "vocab_size": VOCABULARY}
    model: Any = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(num_hidden_layers=BLOCKS, tie_word_embeddings=False, **sizes)
    )
    model.train()
    kwargs = REENTRANT[case["use_reentrant"]] or None
    if case["adapter"] == "PEFT after checkpointing":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=kwargs)
    if case["adapter"].startswith("PEFT"):
        import peft

        model = peft.get_peft_model(model, peft.LoraConfig(target_modules=["q_proj", "v_proj"], r=4))
    if case["adapter"] == "by hand":
        model.requires_grad_(False)
        for layer in model.model.layers:
            for name in ("q_proj", "v_proj"):
                setattr(layer.self_attn, name, Adapter(getattr(layer.self_attn, name)))
    freeze_or_train(model, case)
    if case["adapter"] != "PEFT after checkpointing":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=kwargs)
    if case["inputs"] == "inputs require gradients":
        model.enable_input_require_grads()
    ids = torch.arange(12).reshape(2, 6)
    return model, lambda: model(input_ids=ids, labels=ids).loss


def on_vit(case: Mapping[str, str]) -> tuple[nn.Module, Callable[[], Tensor]]:
    """A small image classifier; its embedding is the projection of patches with class symbol and positions."""
    import transformers

    sizes = {
        "hidden_size": DIM,
        "intermediate_size": 64,
        "num_hidden_layers": BLOCKS,
        "num_attention_heads": 2,
    }
    model = transformers.ViTForImageClassification(
        transformers.ViTConfig(image_size=16, patch_size=8, num_labels=4, **sizes)
    )
    model.train()
    model.vit.embeddings.requires_grad_(case["embedding"] == "trained")
    model.gradient_checkpointing_enable(
        gradient_checkpointing_kwargs=REENTRANT[case["use_reentrant"]] or None
    )
    if case["inputs"] == "inputs require gradients":
        model.enable_input_require_grads()
    images, labels = torch.randn(2, 3, 16, 16), torch.tensor([0, 1])
    return model, lambda: model(pixel_values=images, labels=labels).loss


def freeze_or_train(model: Any, case: Mapping[str, str]) -> None:
    """The input embedding as the case says; the rest stays as it is."""
    model.get_input_embeddings().requires_grad_(case["embedding"] == "trained")


def without_gradient(model: nn.Module, loss: Callable[[], Tensor]) -> Numbers:
    """Names of the trainable parameters whose gradient is None after one backward pass, and what torch said."""
    said = ""
    try:
        loss().backward()
    except (RuntimeError, ValueError) as error:
        said = str(error).partition("\n")[0][:120]
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    missing = sorted(name for name, p in trainable.items() if p.grad is None)
    return {"trainable": len(trainable), "without gradient": len(missing), "names": missing, "error": said}


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By library which cases lose gradients; the prediction is about True and False, which mean the same everywhere."""
    seeds = list(result["seeds"].values())
    agree = all(seed == seeds[0] for seed in seeds)
    claims = [Claim(f"the sets are the same for {len(seeds)} seeds", agree)]
    libraries = sorted({key.partition(" | ")[0] for key in seeds[0]})
    for library in libraries:
        rows = [row for key, row in seeds[0].items() if key.startswith(library)]
        claims += about(library, rows, result["versions"])
    return claims


def about(library: str, rows: Sequence[Mapping[str, Any]], versions: Mapping[str, str]) -> Iterator[Claim]:
    """What holds for one library's rows."""
    package = library.partition(" ")[0]
    name = library.replace(package, f"{package} {versions[package]}")
    right = [row for row in rows if row["use_reentrant"] == "False"]
    yield Claim(
        f"{name}, use_reentrant=False: {lossless(right)} of {len(right)} cases give every trainable "
        "parameter a gradient",
        lossless(right) == len(right),
    )
    fed = [row for row in rows if "trained" in row["embedding"] or "require" in row["inputs"]]
    yield Claim(
        f"{name}, embedding trained or inputs that require gradients: {lossless(fed)} of {len(fed)} cases, whatever "
        "use_reentrant says",
        lossless(fed) == len(fed),
    )
    for reentrant in ("True", "not written"):
        starved = [row for row in rows if row["use_reentrant"] == reentrant and row not in fed]
        losing = [row for row in starved if row["without gradient"]]
        foreseen = starves(library, versions[package], reentrant)
        yield Claim(
            f"{name}, frozen embedding, use_reentrant {reentrant}, inputs as they are: "
            f"{describe(losing, starved)}; predicted: {'lost' if foreseen else 'none lost'}",
            all(bool(row["without gradient"]) == foreseen for row in starved if not saved(row)),
        )


def lossless(rows: Sequence[Mapping[str, Any]]) -> int:
    """How many lose nothing."""
    return sum(not row["without gradient"] for row in rows)


def describe(losing: Sequence[Mapping[str, Any]], all_rows: Sequence[Mapping[str, Any]]) -> str:
    """Which adapters lose how much."""
    if not losing:
        return f"none of {len(all_rows)} cases loses a gradient"
    parts = [
        f"adapter {row['adapter']} {row['without gradient']} of {row['trainable']}"
        + (" and backward fails" if row["error"] else "")
        for row in losing
    ]
    return f"{len(losing)} of {len(all_rows)} cases lose gradients ({'; '.join(parts)})"


def saved(row: Mapping[str, Any]) -> bool:
    """PEFT makes inputs require gradients by itself where checkpointing is on before it wraps."""
    return row["adapter"] == "PEFT after checkpointing"


def starves(library: str, version: str, reentrant: str) -> bool:
    """The prediction: reentrant loses them, and plain torch and transformers before 5 mean it where nothing is written.
    From 5 on transformers means False, and makes inputs require gradients by itself where they are text."""
    if library == "torch" or int(version.partition(".")[0]) < 5:
        return True
    return library.endswith("ViT") and reentrant == "True"


EXPERIMENT = Experiment(
    name="reentrant_gradients",
    question="Which trainable parameters get no gradient under activation checkpointing?",
    arms=(
        "use_reentrant True, False, not written",
        "embedding trained, frozen",
        "inputs as they are, require gradients",
        "adapter none, by hand, LoRA of PEFT before and after checkpointing",
    ),
    measure=measure,
    measures="names of the trainable parameters whose gradient is None after one backward pass",
    expect="use_reentrant=True loses gradients where, and only where, the embedding is frozen and inputs are not made "
    "to require gradients; use_reentrant=False never does. Not written is True in plain torch and in transformers "
    "before 5; transformers 5 means False, and makes inputs require gradients by itself where they are text, not where "
    "they are images.",
    rule="every case of a claim agrees with the prediction, and all seeds agree with one another",
    decide=decide,
    budget="1 minute, one CPU core",
    supports=("S0-108",),
    seeds=(1, 2, 3),
    packages=("torch", "transformers", "accelerate", "peft"),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
