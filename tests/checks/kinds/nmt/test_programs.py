from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.kinds.nmt.programs import program_of


@for_each(
    ("line", "program"),
    [
        ("marian -c a.yml", "marian"),
        ('"$MARIAN"/build/marian --train-sets a b', "marian"),
        ("$MARIAN_TRAIN --train-sets a b", "marian"),
        ("cat a | $MARIAN_DECODER -c m.yml -b 6", "marian-decoder"),
        ("../build/marian-decoder -m m.npz", "marian-decoder"),
        ("nohup sockeye-train -s a -t b", "sockeye"),
        ("python3 -m sockeye.train -s a -t b", "sockeye"),
        ("python -m sockeye.prepare_data -s a -t b -o c", "sockeye-prepare"),
        ("srun fairseq-train d --arch transformer", "fairseq"),
        ("python $FAIRSEQ/train.py d --arch transformer --criterion c --max-tokens 9 --lr-scheduler fixed", "fairseq"),
        ("python fairseq_cli/hydra_train.py --config-name a", "fairseq-hydra"),
        ("python preprocess.py --trainpref a --destdir d -s de -t en", "fairseq-preprocess"),
        ("python train.py --arch resnet50 --lr 0.1", ""),
        ("marian-vocab --max-size 9", ""),
        ("fairseq-generate d --path m.pt", ""),
        ("$MARIAN_VOCAB --max-size 9", ""),
    ],
)  # fmt: skip
def test_a_program_is_known_by_its_name_or_its_options(line, program):
    (call,) = [call for call in document("a.sh", line + "\n").calls if call.name != "cat"]
    assert program_of(call) == program
