"""`serve --export`: what the page holds, its size, and what it refuses. tests/browser/ plays it."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from viewing.exported_page import description_of, page_of, random_network, weights_of

from launch.cli import main
from launch.experiment import checkpoints
from launch.experiment.processes import Processes
from launch.viewing.export import export as export_module
from launch.viewing.export.weights import LARGEST_HALF, TooLargeError, pack, scale_of
from ntuple.files.stored_network import StoredNetwork, load_weights, save_stored
from ntuple.tables.patterns import view_cells


def export(run: Path, page: str = "page.html") -> str:
    """Return the page that the command writes."""
    assert main(["serve", str(run), "--export", page]) == 0
    return Path(page).read_text(encoding="utf-8")


def small_network(rng: np.random.Generator, **keys: Any) -> StoredNetwork:
    return random_network(rng, 100, **{"rows": 2, "columns": 3, "network": ("012", "345"), **keys})


def save(network: StoredNetwork, runs: Path) -> None:
    """Write a network as the checkpoint `made`, whose other settings are those of the trained run."""
    experiment, state = checkpoints.read_checkpoint(checkpoints.find_checkpoint(runs / "tiny"))
    experiment = dataclasses.replace(experiment, settings=network.config)
    checkpoints.write_checkpoint(
        Path("made"), lambda folder: save_stored(network, folder), experiment, state, Processes()
    )


def test_the_weights_are_those_of_the_run_in_half_precision(runs: Path, capsys):
    page = export(runs / "tiny")
    assert re.fullmatch(r"page.html: tiny, 1,024 weights in half precision, 0.0 of 0.0 MB\n", capsys.readouterr().out)
    checkpoint = checkpoints.find_checkpoint(runs / "tiny")
    assert len(page.encode()) < export_module.ROOM  # for all but the weights
    weights = load_weights(checkpoint, checkpoints.read_checkpoint(checkpoint)[0].settings)
    assert weights.any()
    np.testing.assert_array_equal(weights_of(page), weights.astype(np.float16).astype(np.float32))
    network = description_of(page)
    assert {key: network[key] for key in ("rows", "columns", "levels", "fourShare", "size")} == {
        "rows": 2, "columns": 3, "levels": 8, "fourShare": 0.1, "size": 1024,
    }  # fmt: skip
    assert network["patterns"] == [[0, 1, 2], [3, 4, 5]]
    assert network["views"] == [[0, 1, 2, 3, 4, 5], [2, 1, 0, 5, 4, 3], [3, 4, 5, 0, 1, 2], [5, 4, 3, 2, 1, 0]]


def test_a_checkpoint_and_the_name_of_a_run_are_exported_as_the_run(runs: Path):
    page = export(runs / "tiny")
    assert export(checkpoints.find_checkpoint(runs / "tiny"), "one.html") == page
    assert main(["serve", "tiny", "--runs-folder", str(runs), "--export", "two.html"]) == 0
    assert Path("two.html").read_text(encoding="utf-8") == page


def test_promoted_weights_are_written_out(runs: Path, rng: np.random.Generator):
    """An entry without an update has the weight of the halved tiles, which a page cannot look up."""
    network = small_network(rng, promotion="intra")
    assert network.weights.all()
    network.weights[8**2 + 8 + 1] = 0  # the tiles 2, 2, 2 in the first tuple; halved, they are entry 0
    save(network, runs)
    network.weights[8**2 + 8 + 1] = network.weights[0]
    np.testing.assert_array_equal(
        weights_of(export(Path("made"))), network.weights.astype(np.float16).astype(np.float32)
    )


def test_a_table_of_large_weights_has_a_scale(rng: np.random.Generator):
    small = rng.normal(0, 100, 500).astype(np.float32)
    assert scale_of(small) == scale_of(np.zeros(3, np.float32)) == scale_of(np.float32([-LARGEST_HALF])) == 1
    assert scale_of(np.float32([65_505])) == scale_of(np.float32([-2 * LARGEST_HALF])) == 2
    network = random_network(rng, 1e6, rows=2, columns=2, network=("01", "0123"))
    network.weights[: 6**2] /= 1e6
    page = page_of(network)
    assert description_of(page)["scales"] == [1, 16]
    np.testing.assert_allclose(weights_of(page), network.weights, rtol=2**-11, atol=1e-5)


def test_a_page_is_one_file_that_asks_nobody(rng: np.random.Generator):
    page = page_of(random_network(rng, 10, network=("0123", "26a"), symmetry=False), "It scores 5 & <b>more</b>.")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]  # type: ignore[index]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["worker-src"] == "blob:"
    assert len(rules["script-src"].split()) == 2
    assert "connect-src" not in rules
    assert not re.findall(r'(?:src|href)="(?!data:,")|@import|url\(|https?:|fetch\(|XMLHttpRequest', page)
    assert description_of(page)["views"] == [list(range(16))]
    assert "<title>2048: &lt;made&gt;</title>" in page
    assert "<b>&lt;made&gt;</b>" in page
    assert "trained by 1,000 moves. It scores 5 &amp; &lt;b&gt;more&lt;/b&gt;." in page
    without = page_of(random_network(rng, 10, network=("0123", "26a"), symmetry=False))
    assert "trained by 1,000 moves.</p>" in without


def test_the_views_are_those_of_the_network(rng: np.random.Generator):
    network = description_of(page_of(random_network(rng, 10, network=("0145",))))
    assert network["views"] == [list(view) for view in view_cells(4, 4)]
    assert network["levels"] == 16


def test_untouched_weights_take_no_room():
    """16.8 million weights of which 1,000 are not 0."""
    table = np.zeros(16**6, np.float32)
    table[:: 16**6 // 1000] = 7.25
    assert len(pack([table], 10**6).text) < 70_000
    with pytest.raises(TooLargeError):
        pack([table], 10_000)
    with pytest.raises(TooLargeError):  # only the last bytes pass the limit
        pack([table[:1000]], 10)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"game": "2584"}, "made plays 2584; the page plays networks of 2048 only"),
        ({"game": "threes"}, "made plays threes; the page plays networks of 2048 only"),
        ({"stages": (16, 32)}, "made has 3 stages; the page plays networks of one stage only"),
        ({"values": "action"}, "made values actions; the page plays networks of afterstates only"),
        ({"values": "state"}, "made values states; the page plays networks of afterstates only"),
    ],
)
def test_a_network_that_the_page_does_not_play_is_refused(
    runs: Path, rng: np.random.Generator, mistake, keys: dict[str, Any], message: str
):
    save(small_network(rng, **keys), runs)
    assert mistake("serve made --export page.html") == message
    assert not Path("page.html").exists()


def test_a_run_without_a_network_is_refused(mistake, toy_yaml: Path):
    assert main(["train", str(toy_yaml)]) == 0
    only = "the page plays n-tuple networks only, and "
    assert mistake("serve runs/one --export page.html") == (
        f"{only}runs/one was trained by toy; look at it with serve alone"
    )
    assert mistake("serve heuristic --export page.html") == (f"{only}heuristic has none; give the run of a network")


def test_a_page_that_would_be_too_large_is_refused(runs: Path, mistake, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export_module, "MOST_BYTES", export_module.ROOM + 100)
    message = mistake(f"serve {runs / 'tiny'} --export page.html")
    assert message.startswith(f"{runs / 'tiny'}: its page would be larger than 0 MB, with 1,024 weights; train a")
    assert not Path("page.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("one two --export page.html", "--export writes the page of one player, not of 2; give one RUN"),
        ("{run} --export page.txt", "--export is page.txt; give a name that ends with .html"),
        (
            "{run} --export a/page.html",
            "--export a/page.html: there is no folder PWD/a; make it, or name another --export",
        ),
        ("{run} --export folder.html", "cannot write folder.html: Is a directory; name another --export"),
        (
            "nowhere --export page.html",
            "there is no run and no group nowhere in runs; `muzero2048 status` lists them",
        ),
        ("{run} --export page.html --port 0", "--export writes a file and starts no server; leave out --port"),
        ("{run} --export page.html --host ::1", "--export writes a file and starts no server; leave out --host"),
        (
            "--runs-folder other --export page.html",
            "--export writes the page of one run; give a RUN of --runs-folder other",
        ),
    ],
)
def test_a_mistake_gives_one_line(runs: Path, mistake, words: str, message: str):
    Path("folder.html").mkdir()
    assert mistake(f"serve {words.format(run=runs / 'tiny')}") == message.replace("PWD", str(Path.cwd()))
    assert sorted(path.name for path in Path().iterdir() if path.suffix == ".part") == []


def test_an_older_page_stays_if_the_new_one_cannot_be_written(runs: Path, mistake, monkeypatch: pytest.MonkeyPatch):
    page = export(runs / "tiny")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert mistake(f"serve {runs / 'tiny'} --export page.html") == (
        "cannot write page.html: No space left on device; name another --export"
    )
    assert Path("page.html").read_text(encoding="utf-8") == page
