from trimtab.config.complaint import Complaint


def test_equal_complaints_are_one_so_that_none_is_reported_twice():
    found = [Complaint(path="step.clip", what="no clip"), Complaint(path="step.clip", what="no clip")]
    assert len(dict.fromkeys(found)) == 1
