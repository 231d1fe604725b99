import torch

from trimtab.config.step import ClipOff
from trimtab.flow import LossOutput
from trimtab.step.clip.build import build_clip
from trimtab.training.preflight.one_step import one_step
from trimtab.training.preflight.probe import few_examples, one_pack
from trimtab.training.preflight.step_order import Witness


def test_it_takes_the_objective_of_the_parts_or_another(parts):
    pack, witness = one_pack(parts, few_examples(parts)), Witness(parts.optimizer.parameters)
    parts.model.eval()

    def doubled(pack):
        out = parts.objective(pack)
        return LossOutput(out.objective * 2, out.loss, out.truncated)

    for objective in (None, doubled):
        one_step(parts, witness, [pack], clip=build_clip(ClipOff()), rate=0.5, objective=objective)
    assert torch.isclose(torch.tensor(witness.norms[1]), torch.tensor(2 * witness.norms[0]))


def test_the_scale_of_the_run_is_neither_used_nor_changed(parts):
    parts.scale.enabled = True
    factor = parts.scale.factor.clone()
    pack, witness = one_pack(parts, few_examples(parts)), Witness(parts.optimizer.parameters)
    report = one_step(parts, witness, [pack], clip=build_clip(ClipOff()), rate=0.5)
    assert witness.norms == [float(report.grad_norm)]
    assert torch.equal(parts.scale.factor, factor)
    assert parts.scale.good_steps == 0
