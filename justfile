# What people who work on trimtab type. `just` alone lists it.

default:
    @just --list

# Lint, format, types, layers, house rules: under half a minute.
check:
    pytest -q tests/test_workshop.py tests/test_house.py

# Put the formatting and what the linter can repair in order.
fix:
    ruff check --fix .
    ruff format .

# Everything that runs in minutes on a CPU.
test *arguments:
    pytest -n auto -q {{arguments}}

# The long ones too.
slow:
    pytest -q -m slow

# What needs a CUDA device.
gpu:
    pytest -q -m gpu

# Train, translate and report on the built-in sample.
demo:
    trimtab demo
