from pathlib import Path


def test_the_demo_runs_with_its_folder_and_its_minutes(call, stand_in):
    seen = []

    def run_demo(out, minutes, *, progress, output):
        output.write("the report\n")
        seen.append((out, minutes))

    stand_in("demo.run", run_demo=run_demo)
    result = call("demo", "--out", "here", "--minutes", 0.5)
    assert (result.exit_code, result.stdout) == (0, "the report\n")
    assert call("demo").exit_code == 0
    assert seen[0] == (Path("here"), 0.5)
    assert seen[1][0] == Path("runs/demo")
