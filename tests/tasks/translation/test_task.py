from tests.small_run import small_parts


def test_a_translator_has_two_sides_and_the_keys_of_their_tokenizers(tmp_path):
    shared = small_parts(tmp_path / "shared")
    assert [(each.name, each.key) for each in shared.examples.sides()] == [
        ("source", "data.tokenizer"),
        ("target", "data.tokenizer"),
    ]
    own = {"data.source_tokenizer": {"vocabulary_size": 290}, "data.tokenizer": {"vocabulary_size": 300}}
    apart = small_parts(tmp_path / "apart", **own, **{"model.tie_embeddings": "decoder"})
    source, target = apart.examples.sides()
    assert (source.key, target.key) == ("data.source_tokenizer", "data.tokenizer")
    assert (source.in_pair, target.in_pair) == (0, 1)
