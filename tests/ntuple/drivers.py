"""Kernels that run the package's inlined functions over arrays, and conversions to the reference's boards."""

import numpy as np
from reference import rules as reference

from ntuple.board import Board, Rules, afterstate, decode, encode, spawn
from ntuple.jit import kernel
from ntuple.network import find_positions, value_at
from ntuple.rng import mix, step


def to_board(board: reference.Board) -> Board:
    return encode(np.array(board))


def to_reference(rules: Rules, board: Board) -> reference.Board:
    return tuple(tuple(row) for row in decode(rules, board).tolist())


@kernel
def afterstates(rules, boards, action, after, rewards):
    for i in range(boards.shape[0]):
        moved, rewards[i] = afterstate(rules, Board(boards[i, 0], boards[i, 1]), action)
        after[i, 0], after[i, 1] = moved.lo, moved.hi


@kernel
def spawns(rules, board, rng, boards):
    for i in range(boards.shape[0]):
        rng = step(rng)
        spawned = spawn(rules, board, mix(rng))
        boards[i, 0], boards[i, 1] = spawned.lo, spawned.hi


@kernel
def positions_of(rules, network, board, positions):
    find_positions(rules, network, board, positions, 0)


@kernel
def value_of(rules, network, board, positions):
    find_positions(rules, network, board, positions, 0)
    return value_at(network.weights, positions, 0)


def value(rules: Rules, network, board: reference.Board) -> float:
    size = network.symmetries * network.offsets.size
    return float(value_of(rules, network, to_board(board), np.zeros((1, size), np.uint64)))
