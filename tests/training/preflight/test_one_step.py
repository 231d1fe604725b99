import torch

from trimtab.config.step import ClipOff
from trimtab.step.clip.build import build_clip
from trimtab.tasks.text.probing import few_examples, one_pack
from trimtab.training.preflight.one_step import one_step
from trimtab.training.preflight.step_order import Witness
from trimtab.types import LossOutput


def test_it_takes_the_objective_of_the_parts_or_another(parts):
    pack, witness = one_pack(parts, few_examples(parts)), Witness(parts.stepper.optimizer.parameters)

    def doubled(pack):
        out = parts.stepper.objective(pack)
        return LossOutput(out.objective * 2, out.loss, out.truncated)

    for objective in (None, doubled):
        one_step(parts, witness, [pack], clip=build_clip(ClipOff()), rate=0.5, objective=objective)
    assert torch.isclose(torch.tensor(witness.norms[1]), torch.tensor(2 * witness.norms[0]))


def test_the_scale_of_the_run_is_neither_used_nor_changed(parts):
    parts.stepper.scale.enabled = True
    factor = parts.stepper.scale.factor.clone()
    pack, witness = one_pack(parts, few_examples(parts)), Witness(parts.stepper.optimizer.parameters)
    report = one_step(parts, witness, [pack], clip=build_clip(ClipOff()), rate=0.5)
    assert witness.norms == [float(report.grad_norm)]
    assert torch.equal(parts.stepper.scale.factor, factor)
    assert parts.stepper.scale.good_steps == 0


def test_every_step_has_the_dropout_of_training_and_the_same(parts):
    pack, witness = one_pack(parts, few_examples(parts)), Witness(parts.stepper.optimizer.parameters)
    parts.model.eval()
    for _ in range(2):
        one_step(parts, witness, [pack], clip=build_clip(ClipOff()), rate=0.5)
    assert witness.norms[0] == witness.norms[1]
    assert parts.model.training
    (parts.stepper.objective(pack).objective / pack.num_targets).backward()
    witness.update(learning_rate=0.5, skip=torch.tensor(False))
    assert witness.norms[2] != witness.norms[0]  # other dropout
