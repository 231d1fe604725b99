"""Bugs that real training scripts had, put into a run that is otherwise well: each is named before its first step.

Where a bug of several GPUs belongs (gradients that are not averaged over ranks), two of the same family stand here that
one process can have: a micro-batch that is lost, and one that counts twice.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from torch import nn

from tests.faults.mutation import put_bug
from tests.small_run import small_parts
from trimtab.data.pack import assemble
from trimtab.loss.build import Loss
from trimtab.model.attention_padded import attend_padded
from trimtab.model.block import Residual
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.feed_forward import FeedForward
from trimtab.model.init import fill_weights
from trimtab.step.accumulate import accumulate
from trimtab.step.groups import parameter_groups
from trimtab.step.learning_rate import LearningRate
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.take_step import step_on_device
from trimtab.training.preflight import preflight


class Bug(NamedTuple):
    put: Callable[[pytest.MonkeyPatch], None]
    code: str
    beside: set[str] | frozenset[str] = frozenset()
    """What else is told, since it is true too."""
    recipe: tuple[tuple[str, Any], ...] = ()


def rewriting(
    function: Callable[..., Any], *changes: tuple[str, str]
) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: put_bug(patch, function, *changes)


def untie_when_loading(patch: pytest.MonkeyPatch) -> None:
    def load(self: EncoderDecoder, state: dict[str, Any], *rest: Any) -> Any:
        done = nn.Module.load_state_dict(self, state, *rest)
        self.output = copy.deepcopy(self.embedding)
        return done

    patch.setattr(EncoderDecoder, "load_state_dict", load)


LABELS = "_filled(target.values, target_offsets, IGNORE)"
RATE = "rate = multiplied(learning_rate, group.multiplier)"
EACH_BATCH = "for batch in batches:\n"

BUGS = {
    "unmasked future": Bug(
        rewriting(attend_padded, ("is_causal=causal", "is_causal=False")), "M201", {"M204", "S201"}
    ),
    "labels not shifted": Bug(
        rewriting(assemble, (LABELS, "_filled(decoder_input, target_offsets, IGNORE)")), "L202", {"L201"}
    ),
    "double shift": Bug(
        rewriting(assemble, (LABELS, "_filled(np.roll(target.values, -1), target_offsets, IGNORE)")), "L202"
    ),
    "double shift, in the loss": Bug(
        rewriting(Loss.__call__, ("matrix, labels, self.terms", "matrix, labels.roll(-1), self.terms")),
        "L204",
    ),
    "no zero_grad": Bug(rewriting(step_on_device, ("parameter.grad = None", "pass")), "S207"),
    "detached layer": Bug(
        rewriting(FeedForward.forward, ("self.activation))", "self.activation)).detach()")),
        "M205",
        {"S204"},
    ),
    "optimizer on a copy": Bug(
        rewriting(
            build_optimizer,
            (
                "choose_optimizer(config, model,",
                "choose_optimizer(config, __import__('copy').deepcopy(model),",
            ),
        ),
        "S210",
    ),
    "frozen embeddings": Bug(
        rewriting(fill_weights, ("weight.copy_(values)", "weight.copy_(values).requires_grad_(False)")),
        "M206",
    ),
    "frozen embeddings, by a detach": Bug(
        rewriting(EncoderDecoder.embed_source, ("table(stream.ids)", "table(stream.ids).detach()")), "M205"
    ),
    "dropout in eval": Bug(rewriting(Residual.post, ("self.training", "True")), "E202"),
    "mean of means": Bug(
        rewriting(
            accumulate, ("part.objective / divisor", "part.objective / batch.num_targets / len(batches)")
        ),
        "S201",
    ),
    "decay on norms": Bug(
        rewriting(parameter_groups, ("parameter.ndim >= 2 and id(parameter) not in embeddings", "True")),
        "S209",
        recipe=(("step.optimizer.weight_decay", 0.1),),
    ),
    "tied weights untied after load": Bug(untie_when_loading, "M207"),
    "learning rate never applied": Bug(rewriting(AdamW.update, (RATE, "rate = 1e-3")), "S205"),
    "learning rate never applied, so that it is zero": Bug(
        rewriting(AdamW.update, (RATE, "rate = 0.0")), "S204"
    ),
    "scheduler double stepped": Bug(rewriting(LearningRate.at, ("step=step", "step=2 * step")), "S211"),
    "a micro-batch lost": Bug(
        rewriting(accumulate, (EACH_BATCH, "for batch in batches[:-1] or batches:\n")), "S201"
    ),
    "a micro-batch counted twice": Bug(
        rewriting(accumulate, (EACH_BATCH, "for batch in (*batches, batches[-1]):\n")), "S201"
    ),
    "clip after step": Bug(
        rewriting(
            step_on_device,
            ("clip(gradients, unscale", "clip([each.clone() for each in gradients], unscale"),
            ("clip.after(skipped)", "clip(gradients, unscale=scale.inverse); clip.after(skipped)"),
        ),
        "S208",
    ),
}


@pytest.mark.quick(
    "a micro-batch lost",
    "dropout in eval",
    "double shift, in the loss",
    "labels not shifted",
    "optimizer on a copy",
)
@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_each_bug_is_named_before_the_first_step(tmp_path, monkeypatch, bug):
    bug.put(monkeypatch)
    found = {each.code: each.severity for each in preflight(small_parts(tmp_path, **dict(bug.recipe)))}
    assert found.pop(bug.code, None) == "error"
    assert set(found) == bug.beside
