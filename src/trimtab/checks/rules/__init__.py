"""All rules, one file each: `CODE_name_of_the_rule.py` holds `RULE` and `check`."""
