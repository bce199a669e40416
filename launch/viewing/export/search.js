// An n-tuple network and expectimax search on it: the numbers of `muzero2048 moves`. Needs game.js.
//
//     V(board)       = sum over tuples m and views v of scale_m half[index of tuple m on view v]
//     Vmax(s, p)     = max over legal a of r + Vchance(as, p - 1),  0 if the game is over
//     Vchance(as, p) = sum over spawns of P(s') Vmax(s', p) if p > 0,  V(as) if p = 0      (Guei 2023, eq. 20-22)
//
// A search of p plies has p layers of afterstates; 1 ply is the greedy policy. It is exact, as with the default settings
// of ntuple/expectimax/config.py: no pruning, no time limit, no downgraded tiles.
"use strict";
const Search2048 = (() => {
  const MOST_PLIES = 3;
  const MEMORY_BITS = 14; // log2 of the values that are remembered, 20 bytes each: 330 KB stay in the cache

  // [65536] the numbers of half precision (IEEE 754, binary16): (-1)^s 2^(e - 15) (1 + f / 1024), or, if e = 0,
  // (-1)^s 2^-14 f / 1024. Infinity and NaN do not occur.
  const HALVES = Float32Array.from({ length: 65536 }, (_, bits) => {
    const exponent = bits >> 10 & 31, fraction = (bits & 1023) / 1024;
    return (bits >> 15 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  });

  // Unpack the bits of N numbers of half precision, low byte first as in memory, from base64 of a zlib stream.
  async function unpack(text, size) {
    const characters = atob(text), packed = new Uint8Array(characters.length);
    for (let i = 0; i < packed.length; i++) packed[i] = characters.charCodeAt(i);
    const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
    const weights = new Uint16Array(size), bytes = new Uint8Array(weights.buffer);
    let at = 0;
    for (let part; !(part = await reader.read()).done; at += part.value.length) bytes.set(part.value, at);
    if (at !== bytes.length) throw new Error(`the weights of this page are cut: ${at} of ${bytes.length} bytes`);
    return weights;
  }

  // The function V. A line of a view has a word, sum of min(level, 15) 16^i. The index of a tuple of n cells is
  // sum of min(level_i, R - 1) R^i over its cells, so it is a sum over the lines that the tuple touches:
  // index = sum over lines l of part_l[word of line l], which takes two or three loads in place of n.
  function makeValue({ rows, columns, levels, scales, patterns, views }, weights) {
    const rowOf = (cell) => Math.floor(cell / columns);
    const lines = [...new Set(views.flatMap((view) => cut(view, columns).map(String)))]; // each different line once
    const order = Uint8Array.from(lines.flatMap((line) => line.split(",")));
    const words = new Int32Array(lines.length);
    let first = 0;
    const tuples = patterns.map((pattern, m) => {
      const start = first, touched = [...Array(rows).keys()].filter((line) => pattern.some((cell) => rowOf(cell) === line));
      first += levels ** pattern.length;
      const places = views.flatMap((view) => touched.map((line) => lines.indexOf(String(cut(view, columns)[line]))));
      return { start, scale: scales[m], places: Uint8Array.from(places), parts: touched.map((line) => partOf(pattern, line)) };
    });

    // [65536] what a line of each word adds to the index of a tuple.
    function partOf(pattern, line) {
      const part = new Int32Array(65536);
      for (const [i, cell] of pattern.entries()) {
        if (rowOf(cell) !== line) continue;
        for (let word = 0; word < part.length; word++) {
          part[word] += Math.min(word >> 4 * (cell % columns) & 15, levels - 1) * levels ** i;
        }
      }
      return part;
    }

    return (board) => {
      for (let line = 0, k = 0; line < words.length; line++) {
        let word = 0;
        for (let i = 0; i < columns; i++) word |= Math.min(board[order[k++]], 15) << 4 * i;
        words[line] = word;
      }
      let total = 0;
      for (let m = 0; m < tuples.length; m++) {
        const { start, scale, places, parts } = tuples[m];
        let sum = 0;
        for (let k = 0; k < places.length;) {
          let index = start;
          for (let p = 0; p < parts.length; p++) index += parts[p][words[places[k++]]];
          sum += HALVES[weights[index]];
        }
        total += scale * sum;
      }
      return total;
    };
  }

  const cut = (cells, length) => Array.from({ length: cells.length / length }, (_, i) => cells.slice(i * length, (i + 1) * length));

  // The player of a network, as page.py describes it. `advise(board, plies)` is what `moves --json` prints, and the time.
  function makePlayer(network, weights) {
    const { rows, columns, fourShare } = network, { cells, move, makeBoard } = Game2048.makeRules(rows, columns, fourShare);
    const value = makeValue(network, weights), afters = Array.from({ length: MOST_PLIES }, makeBoard);
    // Remembered values: a slot holds the value of one board and depth, whose keys are all 80 bits of its levels.
    const [keysA, keysB, keysC] = [0, 1, 2].map(() => new Int32Array(1 << MEMORY_BITS).fill(-1));
    const values = new Float64Array(1 << MEMORY_BITS);

    function stateValue(board, plies) {
      const after = afters[plies - 1];
      let best = -Infinity;
      for (let action = 0; action < 4; action++) {
        const reward = move(board, action, after);
        if (reward >= 0) best = Math.max(best, reward + chanceValue(after, plies - 1));
      }
      return best === -Infinity ? 0 : best;
    }

    function chanceValue(after, plies) {
      let a = 0, b = 0, c = plies;
      for (let cell = 0; cell < 6; cell++) a = a << 5 | after[cell];
      for (let cell = 6; cell < 12; cell++) b = b << 5 | after[cell];
      for (let cell = 12; cell < 16; cell++) c = c << 5 | after[cell];
      const mixed = Math.imul(a, 0x9E3779B1) ^ Math.imul(b, 0x85EBCA77) ^ Math.imul(c, 0xC2B2AE3D);
      const slot = Math.imul(mixed ^ mixed >>> 15, 0x27D4EB2F) >>> 32 - MEMORY_BITS;
      if (keysA[slot] !== a || keysB[slot] !== b || keysC[slot] !== c) {
        const computed = plies ? meanOverSpawns(after, plies) : value(after);
        keysA[slot] = a; keysB[slot] = b; keysC[slot] = c; values[slot] = computed;
      }
      return values[slot];
    }

    function meanOverSpawns(after, plies) {
      let total = 0, empty = 0;
      for (let cell = 0; cell < cells; cell++) {
        if (after[cell]) continue;
        empty++;
        after[cell] = 1;
        total += (1 - fourShare) * stateValue(after, plies);
        after[cell] = 2;
        total += fourShare * stateValue(after, plies);
        after[cell] = 0;
      }
      return total / empty;
    }

    function advise(board, plies) {
      const began = performance.now(), moves = {}, after = afters[plies - 1];
      let action = null;
      for (const [number, name] of Game2048.NAMES.entries()) {
        const reward = move(board, number, after);
        if (reward < 0) continue;
        moves[name] = { reward, value: reward + chanceValue(after, plies - 1), ply: plies };
        if (action === null || moves[name].value > moves[action].value) action = name; // the first among equals
      }
      return { action, moves, milliseconds: performance.now() - began };
    }

    return { advise };
  }

  const load = async (network, text) => makePlayer(network, await unpack(text, network.size));

  // In a worker: load the network of the first message, then answer each question; the answers are in their order.
  function listen() {
    let player = null;
    self.onmessage = async ({ data }) => {
      try {
        if (data.network) player = await load(data.network, data.weights);
        self.postMessage({ advice: data.network ? null : player.advise(data.board, data.plies) });
      } catch (error) {
        self.postMessage({ error: error.message });
      }
    };
  }

  return { MOST_PLIES, load, listen };
})();
