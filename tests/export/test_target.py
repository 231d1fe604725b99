from trimtab.export.export_model import TARGETS, build_target
from trimtab.export.target import Target


def test_every_target_that_can_be_named_is_one():
    for name in TARGETS:
        target = build_target(name)
        assert isinstance(target, Target)
        assert target.name == name
