from pathlib import Path

import pytest

from tests.launch.course.grader import Grader


@pytest.fixture
def grade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Grader:
    return Grader(tmp_path, capsys)
