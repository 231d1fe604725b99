"""A training toolkit for transformers that makes the small decisions of a run come out right.

The map, from what a person types down to what a number means. Higher may import lower; names with a bar between them
are strangers. The contract `line` in `pyproject.toml` says the same, and a test compares.

    cli                                         one file a command, nothing heavy before it runs
    demo                                        a translator from the sample that comes with the package
    launch | inspection                         what the commands call
    train | preflight | smoke                   the loop on one page; the checks before it; one window by heart
    validate                                    scores the validation sets while a run runs
    record | translator                         what a run writes down; a checkpoint ready to translate
    build                                       introduces the stages to one another: the only file that knows them
    sources | pace | device                     the data, opened; lengths of training; where it runs
    data | model | loss | step | checkpoint | decode | evaluate     the stages, in the order in which data flows
    config                                      the recipe: one frozen tree, read without torch
    flow | progress                             what travels between the stages; what a run tells
    finding                                     what rules and guards say
    errors | units                              what goes wrong; numbers that remember their unit
"""

__version__ = "0.1.0"
