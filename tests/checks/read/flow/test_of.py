from tests.checks.kinds.describing import document
from trimtab.checks.read.flow.of import flow_of


def test_a_script_has_a_flow_where_it_uses_a_library_of_the_field():
    assert [event.name for event in flow_of(document("a.py", "import torch\noptim()\n")).events] == ["optim"]
    assert flow_of(document("a.py", "import os\nf()\n")).events == []
    assert flow_of(document("a.yaml", "a: 1\n")).events == []


def test_a_flow_that_is_not_there_is_not_whole_so_that_nothing_is_concluded_from_it():
    assert not flow_of(document("a.py", "import os\nf()\n")).is_whole
