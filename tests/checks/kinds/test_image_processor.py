from tests.checks.kinds.describing import describe, values
from tests.for_each import for_each
from trimtab.checks.kinds.image_processor import KIND


@for_each(
    ("size", "told"),
    [
        ('{"height": 384, "width": 384}', ([384, 384], False)),
        ("224", ([224, 224], False)),
        ('{"shortest_edge": 224}', (None, True)),
        ('{"height": "x"}', (None, None)),
    ],
)
def test_a_size_with_two_sides_stretches_and_one_edge_does_not(size, told):
    run = describe(KIND, f'{{"do_resize": true, "size": {size}}}', file="preprocessor_config.json")
    assert values(run, "image_size", "keep_aspect_ratio") == told


def test_without_resizing_nothing_is_told():
    text = '{"image_processor_type": "X", "do_resize": false, "size": 224}'
    assert describe(KIND, text, file="preprocessor_config.json").value("image_size") is None
