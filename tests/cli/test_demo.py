from pathlib import Path


def test_the_demo_runs_with_its_folder_and_its_minutes(call, stand_in):
    seen = []
    stand_in("demo.run", run_demo=lambda out, minutes: seen.append((out, minutes)))
    assert call("demo", "--out", "here", "--minutes", 0.5).exit_code == 0
    assert call("demo").exit_code == 0
    assert seen[0] == (Path("here"), 0.5)
    assert seen[1][0] == Path("runs/demo")
