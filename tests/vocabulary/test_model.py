from trimtab.vocabulary.model import named_ids


def test_several_ids_under_one_key_have_a_name_each():
    assert named_ids([("eos", 1), ("eos", 2), ("pad", 3)]) == {"eos": 1, "eos, 2": 2, "pad": 3}
