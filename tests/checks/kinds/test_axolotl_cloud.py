from tests.checks.kinds.yaml_runs import told
from trimtab.checks.kinds.axolotl_cloud import KIND


def test_a_cloud_is_no_run():
    run = told(KIND, "provider: baseten\nproject_name: x\ngpu: h100\n")
    assert run.keys["gpu"].value == "h100"
    assert (run.concepts, run.table) == ({}, None)
