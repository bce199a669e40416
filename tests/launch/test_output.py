"""Tests of the standard output of commands."""

import json
import math
import sys
from contextlib import redirect_stderr

from launch.output import going_on_unread, print_json


def test_numbers_that_json_has_not_are_null(capsys):
    print_json({"mean": 1.5, "of": [math.nan, math.inf, 3], "none": None, "tile": {2048: 0.5}})
    text = capsys.readouterr().out
    assert text == '{"mean": 1.5, "of": [null, null, 3], "none": null, "tile": {"2048": 0.5}}\n'
    json.loads(text, parse_constant=lambda word: 1 / 0)


def test_text_that_nobody_reads_is_dropped(unread):
    with unread(), redirect_stderr(sys.stdout), going_on_unread():
        print("a warning", file=sys.stderr, flush=True)
    with unread(), going_on_unread():
        print("still in the buffer when the block ends")
