# What people who work on trimtab type. `just` alone lists it.

# What `just benchmarks` measures on: a folder that holds {prose,ui}/{train,dev}.{en,de}.xz.
corpora := "../shared/corpora/en-de"
# Where it writes; results that are kept are copied to benchmarks/ with the name of the machine.
results := "runs/benchmarks"

default:
    @just --list

# Lint, format, types, layers, house rules: about a minute.
check:
    pytest -q tests/test_workshop.py tests/test_house.py

# Put the formatting and what the linter can repair in order.
fix:
    ruff check --fix .
    ruff format .

# Everything that runs in minutes on a CPU.
test *arguments:
    pytest -q {{arguments}}

# The long ones, which `just test` leaves out.
slow *arguments:
    pytest -q -m slow {{arguments}}

# Tests of properties with examples that no run before has drawn.
explore *arguments:
    pytest -q -m hypothesis --hypothesis-profile explore {{arguments}}

# Every fault there is, 40 kills and 200 flipped bits in each file among them; counts go to benchmarks/fault_suite.json.
faults *arguments:
    TRIMTAB_FAULT_RESULTS=benchmarks/fault_suite.json pytest -q -n 0 -m "slow or not slow" tests/faults {{arguments}}
    python tools/write_reliability.py

# 25 random kills of one of two processes, each with a resume: 10 to 20 minutes.
killed-ranks *arguments:
    python -m benchmarks.killed_ranks --out benchmarks/killed_ranks.json {{arguments}}

# What needs a CUDA device; without the hook that checks shapes, which cannot be compiled.
gpu *arguments:
    python benchmarks/gpu_suite.py --out benchmarks/gpu_suite.json {{arguments}}
    python tools/write_reliability.py

# Train, translate and report on the built-in sample.
demo *arguments:
    trimtab demo {{arguments}}

# A server under load for ten minutes, hostile requests among it; trains a small model first, 20 minutes in all.
serve-load *arguments:
    python benchmarks/serve_load.py --minutes 10 --out benchmarks/serve_load.json {{arguments}}

# A run of a million steps and twelve curves as a report; the browser too where Chromium and playwright are installed.
report-million *arguments:
    python benchmarks/report_million.py --out benchmarks/report_million.json {{arguments}}

# The page in Chromium, with axe-core from npm; needs `pip install playwright` and `apt-get install chromium npm`.
report-browser *arguments:
    npm install --no-save --no-package-lock axe-core@4.14.1
    pytest -q -n 0 -m slow tests/report/test_browser.py {{arguments}}

# The documentation as a site in build/site/html; needs `pip install -e ".[docs]"`.
site *arguments:
    python tools/build_site.py {{arguments}}

# The built site in Chromium: links, requests, axe-core and the keyboard; needs what `report-browser` needs.
site-check *arguments: site
    npm install --no-save --no-package-lock axe-core@4.14.1
    python tools/check_site.py --out benchmarks/site.json {{arguments}}

# The measurements of the README that any machine can make, in minutes; needs transformers and accelerate too.
benchmarks:
    mkdir -p {{results}}
    python benchmarks/accumulation.py --data {{corpora}} --out {{results}}/accumulation.json
    python benchmarks/packs_against_padding.py --data {{corpora}} --out {{results}}/packs_against_padding.json

# Five minutes of training and a translation, ours and that of transformers; for one GPU of 80 GB.
benchmarks-gpu:
    mkdir -p {{results}}
    python benchmarks/recipe_quality.py --data {{corpora}} --out {{results}}/en_de_quality.json
    python benchmarks/hf_translation.py --data {{corpora}} --out {{results}}/hf_translation.json
