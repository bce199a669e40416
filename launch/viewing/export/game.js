// The rules of 2048 and the spawns of a seed: the same games as those of `serve` (launch/viewing/game.py).
// A board is a Uint8Array of 16 levels, log2 of the tile, 0 = empty: H W cells row by row, then zeros. Moves: up, right,
// down, left = 0..3.
"use strict";
const Game2048 = (() => {
  const NAMES = ["up", "right", "down", "left"];
  const OPENING = 2; // spawns before the first move
  const LEVEL_BITS = 5, LEVEL = 31; // of a cell in the key of a line

  // `fourShare`: probability that a spawn is a 4.
  function makeRules(rows, columns, fourShare) {
    const cells = rows * columns, fourBelow = BigInt(Math.round(fourShare * 2 ** 32));
    const orders = [[columns, 1, columns, 0], [1, columns, rows, 1], [columns, 1, columns, 1], [1, columns, rows, 0]].map(
      ([along, across, count, isReversed]) => Uint8Array.from({ length: cells }, (_, k) => {
        const length = cells / count, i = k % length;
        return Math.floor(k / length) * across + (isReversed ? length - 1 - i : i) * along;
      })); // [4][H W] the cells line by line, each line from the side to which the tiles slide
    const lengths = [rows, columns, rows, columns], makeBoard = () => new Uint8Array(16);
    // A line has the key sum of level_i 32^i; `slid` is the key after the slide, -1: not computed yet.
    const slid = new Int32Array(1 << 4 * LEVEL_BITS).fill(-1), points = new Int32Array(slid.length);

    function slide(key) {
      const line = [];
      let mayMerge = false, sum = 0;
      for (let rest = key; rest; rest >>>= LEVEL_BITS) {
        const level = rest & LEVEL;
        if (!level) continue;
        if (mayMerge && line.at(-1) === level) {
          sum += 2 ** ++line[line.length - 1];
          mayMerge = false; // a merged tile merges once
        } else mayMerge = line.push(level) > 0;
      }
      points[key] = sum;
      slid[key] = line.reduceRight((keySoFar, level) => keySoFar << LEVEL_BITS | level, 0);
      return slid[key];
    }

    // Write the afterstate of a move into `after`; return the reward, -1 if the move is not legal.
    function move(board, action, after) {
      const order = orders[action], length = lengths[action];
      let reward = 0, isLegal = false;
      for (let first = 0; first < cells; first += length) {
        let key = 0;
        for (let i = first + length - 1; i >= first; i--) key = key << LEVEL_BITS | board[order[i]];
        let line = slid[key];
        if (line < 0) line = slide(key);
        if (line !== key) isLegal = true;
        reward += points[key];
        for (let i = first; i < first + length; i++, line >>>= LEVEL_BITS) after[order[i]] = line & LEVEL;
      }
      return isLegal ? reward : -1;
    }

    // Place the spawn of a number into the board; return its row, column and tile. Bits 32 to 63 of the random number
    // choose one of the n empty cells, floor(n bits / 2^32); it is a 4 if bits 0 to 31 are below 2^32 `fourShare`.
    function spawn(board, seed, number) {
      const bits = mix(wrap(stream(BigInt(seed), BigInt(number)) + GAMMA));
      const empty = [...board.keys()].filter((cell) => cell < cells && !board[cell]);
      const cell = empty[Number((bits >> 32n) * BigInt(empty.length) >> 32n)];
      board[cell] = (bits & 0xFFFFFFFFn) < fourBelow ? 2 : 1;
      return { row: Math.floor(cell / columns), column: cell % columns, tile: 2 ** board[cell] };
    }

    function open(seed) {
      const board = makeBoard();
      for (let number = 0; number < OPENING; number++) spawn(board, seed, number);
      return board;
    }

    // The board after a move and its spawn, with the reward; null if the move is not legal. `moves` were made before.
    function play(board, action, seed, moves) {
      const next = makeBoard(), reward = move(board, action, next);
      return reward < 0 ? null : { reward, spawn: spawn(next, seed, OPENING + moves), board: next };
    }

    return { cells, makeBoard, move, open, play };
  }

  // splitmix64: Steele, Lea and Flood 2014, fig. 16 and 17; as ntuple/game/rng.py.
  const GAMMA = 0x9E3779B97F4A7C15n, wrap = (word) => BigInt.asUintN(64, word);
  function mix(state) {
    let z = wrap((state ^ state >> 30n) * 0xBF58476D1CE4E5B9n);
    z = wrap((z ^ z >> 27n) * 0x94D049BB133111EBn);
    return z ^ z >> 31n;
  }
  const stream = (seed, number) => mix(wrap(mix(wrap(seed + GAMMA)) + (number + 1n) * GAMMA));

  return { NAMES, makeRules };
})();
