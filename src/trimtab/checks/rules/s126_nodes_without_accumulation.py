"""S126 nodes-without-accumulation"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S126",
    name="nodes-without-accumulation",
    severity="note",
    message="{nodes} machines exchange all gradients after every micro-batch",
    why="Between machines the network is often the bottleneck, and then a few micro-batches a step save time "
    "at the same number of tokens. Within one machine it is the other way round.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2507.07101",
            "Marek et al. 2025: accumulation is for multiple devices with multiple model replicas, "
            "bottlenecked by the bandwidth between them.",
        ),
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/opts.py",
            "accum_count is 1 by default; lookahead_minibatches should be the same as accum_count, or a "
            "multiple of it.",
        ),
    ),
    fix=Fix("try an accumulation of 4 to 10 and compare tokens a second"),
    bad=Example(
        "accelerate.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 4\nnum_processes: "
        "32\nmachine_rank: 0\nmixed_precision: bf16\ndeepspeed_config:\n"
        "  zero_stage: 2\n  gradient_accumulation_steps: 1\n",
    ),
    good=Example(
        "accelerate.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 4\nnum_processes: "
        "32\nmachine_rank: 0\nmixed_precision: bf16\ndeepspeed_config:\n"
        "  zero_stage: 2\n  gradient_accumulation_steps: 8\n",
    ),
    aliases=("DIST001",),
    tips=("S1-02", "S1-01"),
    symptoms=("training is slow on several machines", "GPU utilisation is low"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Where several machines and an accumulation of 1 are both written."""
    accumulation = run.setting("accumulation")
    nodes = run.written("num_machines") or run.written("n_nodes")
    if nodes is None or type(nodes.value) is not int or nodes.value < 2 or accumulation is None:
        return
    if accumulation.value == 1 and accumulation.is_written:
        yield RULE.at(accumulation, nodes=nodes.value)
