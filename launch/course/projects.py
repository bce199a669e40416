"""The projects: the board, how a program is graded, and its limits (docs/course).

A project is graded by a function (project, request) -> Grade; a project of a known kind is one row of PROJECTS.
"""

from launch.course import points
from launch.course.black_box import grade_learner
from launch.course.games import grader
from launch.course.opponents import adversary_grader, grade_tournament
from launch.course.questions import exact_values, grade_answers, sweeps
from launch.course.request import Project

GIB = 1 << 30
# Moves/s that are asked of a program in C++ and in Python.
ENVIRONMENT, PLAYER, STRONG, ROLLOUTS = (100_000, 1_000), (50_000, 500), (10_000, 100), (100, 5)
ARENA, ANY = (10, 10), (0, 0)

PROJECTS: dict[str, Project] = {
    "light": Project("4x4", grader(points.wins), PLAYER, 2 * GIB, 1000),
    "2584-environment": Project("2584 4x4", grader(points.environment_2584), ENVIRONMENT, GIB, 1000),
    "threes-environment": Project("threes-easy 4x4", grader(points.environment_threes), ENVIRONMENT, GIB, 1000),
    "2584-player": Project("2584 4x4", grader(points.wins_2584), PLAYER, 2 * GIB, 1000),
    "threes-player": Project("threes-easy 4x4", grader(points.wins_threes), PLAYER, 2 * GIB, 1000),
    "2584-solver": Project("2584 2x3", grade_answers(exact_values), ANY, 4 * GIB, 100, 60.0),
    "threes-solver": Project("threes-small 2x3", grade_answers(exact_values), ANY, 4 * GIB, 100, 60.0),
    "2584-strong": Project("2584-hard 4x4", grader(points.wins_2584), STRONG, 4 * GIB, 100),
    "threes-strong": Project("threes-far-side 4x4", grader(points.wins_threes), STRONG, 4 * GIB, 1000),
    "2584-adversary": Project(
        "2584-hard 4x4", adversary_grader(points.losses_2584), ARENA, 4 * GIB, 100, has_rivals=True
    ),
    "threes-adversary": Project(
        "threes-far-side 4x4", adversary_grader(points.losses_threes), ARENA, 4 * GIB, 100, has_rivals=True
    ),
    "2584-tournament": Project("2584-hard 4x4", grade_tournament, ARENA, 0, 100, cores=0, has_rivals=True),
    "threes-tournament": Project("threes-far-side 4x4", grade_tournament, ARENA, 0, 100, cores=0, has_rivals=True),
    "mcts": Project("3x3", grader(points.share_of_optimum), ROLLOUTS, GIB, 100),
    "learned-model": Project("2x2", grade_learner, ANY, 2 * GIB, 200, 600.0),
    "value-iteration": Project("2x3", grade_answers(sweeps), ANY, 4 * GIB, 100, 60.0),
}
