from tests.checks.kinds.nmt.commands import FAIRSEQ, MARIAN, run
from tests.for_each import for_each
from trimtab.checks.file_pairs import training_pair, validation_pair

SOCKEYE = "sockeye-train -s a.en -t a.de -vs d.en -vt d.de -o m --max-updates 9\n"


@for_each(
    ("text", "trained", "held"),
    [
        (MARIAN, ("corpus.en", "corpus.de"), ("dev.en", "dev.de")),
        (SOCKEYE, ("a.en", "a.de"), ("d.en", "d.de")),
        (SOCKEYE.replace("-s a.en -t a.de", "-d prepared"), None, ("d.en", "d.de")),
        (MARIAN.replace("corpus.en corpus.de", "a b c"), None, ("dev.en", "dev.de")),
        (FAIRSEQ, None, None),
    ],
)
def test_pairs_are_two_files_that_options_name(text, trained, held):
    pairs = (training_pair(run(text)), validation_pair(run(text)))
    assert [pair and (pair.source, pair.target) for pair in pairs] == [trained, held]
