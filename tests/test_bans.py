from pathlib import Path

from tests.bans import banned, forks
from tests.for_each import for_each

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "benchmarks", "tools", "experiments")
TALK_TO_PROCESSES = {
    "src/trimtab/data/worker_pool.py",
    "src/trimtab/data/bisect_failure.py",
    "src/trimtab/data/worker_process.py",
    "benchmarks/attention_kernels.py",
}
"""Chunks of data come from workers that the training process started, as pickles through a pipe of its own."""
OPENED_TO_PROVE = {"src/trimtab/export/torch_export/target.py": "torch.export.load"}
"""An export opens the program that it wrote a moment ago, to prove it equal; no command opens one that is given."""
MAY_FORK = {"tests/forking.py"}
"""What a user's own fork does is tested with a fork, in a child that has no threads but Python's and says so."""


@for_each(
    "source",
    [
        "import pickle",
        "import os, pickle as harmless",
        "from pickle import loads",
        "import _pickle",
        "import cloudpickle",
        "import dill.source",
        "import shelve",
        "import marshal",
        "from joblib import load",
        "import yaml\nyaml.safe_load(text)",
        "import torch\ntorch.load(path)",
        "import torch\ntorch.save({}, path)",
        "import torch as t\nt.load(path)",
        "from torch import load",
        "from torch import load as read",
        "import torch\nread = torch.load",
        "import torch\ntorch.jit.load(path)",
        "import torch\ntorch.hub.load('a/b', 'c')",
        "import torch.distributed.checkpoint as dcp\ndcp.load({})",
        "from torch.serialization import add_safe_globals",
        "import numpy as np\nnp.load(path)",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "import numpy as np\nnp.load(path, allow_pickle=flag)",
        "from numpy import load\nload(path)",
        "import numpy\nnumpy.save(path, rows)",
        "read(path, allow_pickle=True)",
        "read(path, weights_only=True)",
        "eval('1')",
        "exec(text)",
        "run = eval",
        "compile(text, 'name', 'exec')",
        "__import__('os')",
        "from importlib import import_module\nimport_module('pickle')",
        "from ruamel.yaml import YAML\nYAML(typ='unsafe')",
        "import multiprocessing",
        "from multiprocessing.connection import Client",
        "import os\nos.system('ls')",
        "import subprocess\nsubprocess.run('ls', shell=True)",
        "def late():\n    import pickle",
        "import runpy",
    ],
)
def test_what_could_run_code_from_a_file_is_found(source: str):
    assert banned(source)


@for_each(
    "source",
    [
        "import re\nre.compile('a')",
        "model.eval()",
        "model.compile()",
        "import torch\ntorch.compile(model)",
        "import numpy as np\nnp.load(path, allow_pickle=False)",
        "import numpy as np\nnp.save(path, rows, allow_pickle=False)",
        "from ruamel.yaml import YAML\nYAML(typ='safe', pure=True)",
        "import json\njson.load(file)",
        "import ast\nast.literal_eval('1')",
        "checkpoint.load(path)",
        "store.save(state)",
        "from importlib import import_module\nimport_module('numpy')",
        "import subprocess\nsubprocess.run(['ls'])",
        "text = 'import pickle; eval(1)'",
    ],
)
def test_what_is_harmless_is_not_found(source: str):
    assert banned(source) == []


def test_a_file_that_may_talk_to_its_own_processes_may_do_nothing_else():
    assert banned("import multiprocessing", talks_to_processes=True) == []
    assert banned("import pickle", talks_to_processes=True)


def test_no_code_comes_from_a_file_anywhere():
    found = {}
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        bad = banned(path.read_text(encoding="utf-8"), talks_to_processes=name in TALK_TO_PROCESSES)
        bad = [each for each in bad if each.partition(": ")[2] != OPENED_TO_PROVE.get(name)]
        found |= {name: bad} if bad else {}
    assert found == {}
    assert len(paths) > 300


def test_each_file_that_may_talk_to_processes_does():
    silent = [name for name in TALK_TO_PROCESSES if not banned((ROOT / name).read_text(encoding="utf-8"))]
    assert silent == []


@for_each(
    "source",
    [
        "import os\nos.fork()",
        "from os import fork",
        "from os import fork as split\nsplit()",
        "import os as system\nsystem.forkpty()",
        "import os\nbegin = os.fork",
        "import posix\nposix.fork()",
        "import pty\npty.fork()",
        "from pty import spawn",
        "import multiprocessing\nmultiprocessing.get_context('fork')",
        "import multiprocessing as m\nm.get_context(method='fork')",
        "from multiprocessing import get_context\nget_context('fork').Pool(2)",
        "import multiprocessing\nmultiprocessing.get_context()",
        "import multiprocessing\nmultiprocessing.set_start_method('fork', force=True)",
        "import torch\ntorch.multiprocessing.set_start_method('fork')",
        "import torch.multiprocessing as mp\nmp.start_processes(work, start_method='fork')",
        "import multiprocessing\nmultiprocessing.Process(target=work).start()",
        "from multiprocessing import Process\nProcess(target=work)",
        "from multiprocessing import Pool\nPool(2)",
        "from multiprocessing.pool import Pool\nPool(2)",
        "from multiprocessing.context import ForkContext",
        "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(2)",
        "from concurrent.futures import ProcessPoolExecutor as P\nP(2, mp_context=get_context('fork'))",
        "DataLoader(data, num_workers=2, multiprocessing_context='fork')",
        "import subprocess\nsubprocess.run(['ls'], preexec_fn=work)",
    ],
)
def test_what_forks_this_process_is_found(source: str):
    assert forks(source)


@for_each(
    "source",
    [
        "import multiprocessing\nmultiprocessing.get_context('spawn').Process(target=work)",
        "import multiprocessing\nmultiprocessing.get_context('forkserver').Pool(2)",
        "import multiprocessing\nmultiprocessing.set_start_method('spawn')",
        "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(2, mp_context=get_context('spawn'))",
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(2)",
        "from multiprocessing import forkserver\nforkserver.ensure_running()",
        "import subprocess\nsubprocess.run(['ls'])",
        "import torch\ntorch.random.fork_rng()",
        "repository.fork()",
        "text = 'os.fork()'",
    ],
)
def test_what_starts_a_process_afresh_is_not_found(source: str):
    assert forks(source) == []


def test_nothing_forks_a_process_that_may_have_threads():
    paths = [path for folder in (*FOLDERS, "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {
        path.relative_to(ROOT).as_posix(): bad
        for path in paths
        if (bad := forks(path.read_text(encoding="utf-8")))
    }
    assert found.keys() == MAY_FORK
    assert len(paths) > 600
