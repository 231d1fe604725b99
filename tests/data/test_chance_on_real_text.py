"""The sample of real text that comes with the package, read with everything that depends on chance."""

import lzma
from pathlib import Path

import numpy as np
import pytest

import trimtab
from trimtab.config.load import parse_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.chunk import encode_chunk
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets

DATA = Path(trimtab.__file__).parent / "demo" / "data"
RECIPE = """\
data:
  train:
    - {name: prose, pairs: pairs.tsv, source: 1, target: 2, tags: [<2de>]}
    - {name: mono, text: mono.de, tags: [<denoise>]}
  tokenizer: {model: MODEL, vocabulary_size: 1500, sampling: {kind: SAMPLING}}
  transforms: [{kind: normalize}, {kind: denoise, infill: 0.3, delete: 0.1, shuffle: 3}]
  temperature: 3
  stages: [{until: 10 steps, weights: {mono: 0}}, {weights: {mono: 1}}]
model: {preset: tiny}
length: 1000 steps
evaluate: {metrics: [], best: {metric: loss}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "sampling"), [("unigram", "subword_regularization"), ("bpe", "bpe_dropout")]
)
def test_real_text_comes_back_from_any_split_and_its_noise_is_as_strong_as_was_asked_for(
    tmp_path, model, sampling
):
    packed = next(DATA.glob("train*.tsv.xz"))
    pairs = lzma.decompress(packed.read_bytes()).decode().splitlines()[:400]
    (tmp_path / "pairs.tsv").write_text("".join(line + "\n" for line in pairs))
    (tmp_path / "mono.de").write_text("".join(line.split("\t")[1] + "\n" for line in pairs[:100]))
    text = RECIPE.replace("MODEL", model).replace("SAMPLING", sampling)
    recipe = resolve_paths(parse_recipe(text, path=tmp_path / "r.yaml"))
    sources = open_datasets(recipe, tokenizer_folder=tmp_path / "tokenizer", progress=Silent())
    tokenizer, stages = sources.tokenizer, sources.stages
    assert stages.mixtures[0].draws == (500, 0)
    assert stages.mixtures[1].shares == pytest.approx((4 ** (1 / 3) / (4 ** (1 / 3) + 1), 0.386), abs=0.01)

    whole_words = words_left = plain = spelled = 0
    chunk = encode_chunk(sources.feed, start=0, count=400)
    for number, line in enumerate(chunk.line.tolist()):
        source, target = chunk.source.row(number).tolist(), chunk.target.row(number).tolist()
        pair = [sources.pipeline.apply_source(side) for side in sources.corpora[0].pair(line)]
        assert tokenizer.decode([source, target]) == tokenizer.decode(tokenizer.encode(pair))
        plain += sum(map(len, tokenizer.encode(pair)))
        spelled += len(source) - 1 + len(target)
    assert spelled > 1.1 * plain, "sampled splits are longer"

    noise = sources.feed.noises[1][0]
    for line in range(100):
        ids = tokenizer.encode([sources.corpora[1].pair(line)[1]])[0][:-1]
        spoiled = [id for id in noise.spoil(ids, np.random.default_rng(line)) if id != noise.mask_id]
        whole_words += len(noise.words(ids))
        words_left += len(noise.words(spoiled))
    assert words_left / whole_words == pytest.approx(0.9 * 0.7, abs=0.05)
