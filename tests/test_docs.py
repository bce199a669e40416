"""The pages and the generator of the documentation site. `make docs` builds the site; this file needs no mkdocs."""

import argparse
import re
from pathlib import Path

import pytest

from docs.generator import command_lines, links, mentions, names, reference, searches
from launch.cli import make_parser
from launch.experiment import metrics
from launch.experiment.describe import learner_keys
from launch.experiment.registry import LEARNERS

ROOT = Path(__file__).parent.parent
PAGES = {page: (ROOT / page).read_text(encoding="utf-8") for page in links.page_paths()}


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return reference.pages()


def test_every_command_of_the_pages_can_be_read():
    assert command_lines.mistakes() == []
    assert sum(len(list(command_lines.lines_of(*page))) for page in PAGES.items()) > 150


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("muzero2048 train a.yaml run.seed=1", ["train", "a.yaml", "run.seed=1"]),
        ("A=b muzero2048 bench env  # a comment", ["bench", "env"]),
        (".venv/bin/muzero2048 status | head", ["status"]),
        ("muzero2048 status &", ["status"]),
        ("muzero2048 train a.yaml \\\n    run.seed=1", ["train", "a.yaml", "run.seed=1"]),
        ("    muzero2048 evaluate runs/a search.z=$z", ["evaluate", "runs/a", "search.z=1"]),
        (".venv/bin/python -m launch status", ["status"]),
        ("muzero2048 evaluate RUN [--simulations N]", ["evaluate", "RUN", "--simulations", "1"]),
        ('muzero2048 moves runs/a --position "2 4 / 0 8"', ["moves", "runs/a", "--position", "2 4 / 0 8"]),
    ],
)
def test_the_words_of_a_command_line(block: str, words: list[str]):
    text = f"Text.\n\n```\necho 1\n{block}\n```\n"
    assert list(command_lines.lines_of("a.md", text)) == [command_lines.Line("a.md", 5, tuple(words))]


def test_the_number_of_a_line_counts_continued_lines():
    text = "```\nmuzero2048 train a \\\n  b=1 \\\n  c=1\nmuzero2048 status\n```\nand `muzero2048 solve`"
    assert [(line.number, line.words[0]) for line in command_lines.lines_of("a.md", text)] == [
        (2, "train"),
        (5, "status"),
        (7, "solve"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```\nmuzero2048 train CONFIG [key=value ...] [--resume]\n```\n",
        "```python\nimport muzero2048 as m\n```\n",
        "```\nlaunch -> muzero2048 -> ntuple\n```\n",
    ],
)
def test_what_is_no_command_line(text: str):
    assert list(command_lines.lines_of("a.md", text)) == []


@pytest.mark.parametrize(
    ("command", "mistake"),
    [
        ("trian configs/quick/ntuple.yaml", "invalid choice: 'trian'"),
        ("train configs/quick/ntuple.yaml --resum", "there is no option --resum"),
        ("train configs/quick/ntuple.yaml ntuple.alpha=1", "ntuple.alpha"),
        ("train configs/quick/ntuple.yaml ntuple.rows=9", "ntuple.rows"),
        ("evaluate runs/a --simulations many", "--simulations"),
        ("evaluate runs/a search.simulation=4", "there is no key search.simulation"),
        ("replay", "the following arguments are required: RUN|FILE"),
    ],
)
def test_a_mistake_in_a_command_line(command: str, mistake: str):
    line = command_lines.Line("a.md", 1, tuple(command.split()))
    assert mistake in command_lines.mistake_of(line)
    assert (command_lines.mistake_of(line._replace(is_inline=True)) == "") == (command == "replay")


@pytest.mark.parametrize("text", ["`make {}`", "```\nA=b make {} | head\n```\n", "`make PYTHON=python3.12 {}`"])
def test_the_targets_of_make(text: str):
    for word, mistake in (("demo", ""), ("test-slow", ""), ("frob", "the Makefile has no target frob")):
        [line] = command_lines.lines_of("a.md", text.format(word))
        assert command_lines.mistake_of(line) == mistake


def test_everything_that_the_pages_name_exists():
    assert mentions.mistakes() == []


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("launch/nothere.py", "launch/nothere.py"),
        ("in `launch/nothere.py`, line 3", "launch/nothere.py"),
        ("(docs/algorithms/none.md).", "docs/algorithms/none.md"),
        ("`docs/algorithms/none.md`", "docs/algorithms/none.md"),
        ("```\ncat configs/none.yaml\n```", "configs/none.yaml"),
        ("ntuple/none.yaml", "ntuple/none.yaml"),
        ("the folder ntuple/none/.", "ntuple/none/"),
        ("`ntuple.nosuchkey`", "key ntuple.nosuchkey"),
        ("`a ntuple.target.nosuchkey=2`", "key ntuple.target.nosuchkey=2"),
        ("`network.nosuchkey: 3`", "key network.nosuchkey:"),
        ("`eval/nosuch`", "metric eval/nosuch"),
    ],
)
def test_a_name_of_nothing(text: str, mistake: str):
    lines = [line.partition(": ")[2] for line in mentions.mistakes_of("a.md", text)]
    assert lines == [f"there is no {mistake}"]


@pytest.mark.parametrize(
    "text",
    [
        "launch/cli.py, ntuple/td/, ntuple/4x6-tc.yaml",
        "launch/NAME.py docs/*.md tests/<folder>/a.py configs/{a,b}.yaml",
        "https://a.org/launch/none.py [a](../launch/none.py) ../ntuple/none.py",
        "`ntuple.target.method=td` `ntuple.target` `target.method: td` `search.simulations` `search.key=value`",
        "`ntuple.core.settings` `ntuple.td.targets.METHODS` `replay.py`",
        "`eval/score_mean` `eval/reach_<tile>` `runs/none` ntuple.nosuchkey eval/nosuch",
    ],
)
def test_what_names_something_or_nothing_that_is_checked(text: str):
    assert list(mentions.mistakes_of("a.md", text)) == []


def test_the_files_of_each_folder_in_the_architecture_exist():
    rows = re.findall(r"^\| ([\w/]+/) \|.*\| ([^|]*) \|$", Path("docs/architecture.md").read_text(), re.MULTILINE)
    assert len(rows) > 40
    listed = [(folder, name) for folder, files in rows for name in files.split(", ") if name]
    missing = [f"{folder}{name}" for folder, name in listed if not list(Path(folder).glob(f"{name}*"))]
    assert not missing


def test_pages_load_no_script_of_another_host():
    """The plugin `offline` adds the address of a script unless the polyfills name one."""
    [polyfill] = re.findall(r"polyfills: \[(.*)\]", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert "iframe-worker" in polyfill
    assert (ROOT / "docs" / polyfill).is_file()


def test_every_link_leads_to_a_file_or_a_name():
    for page, text in PAGES.items():
        for link in links.links_of(page, text):
            assert (ROOT / link.path).is_file(), f"{page}: {link.path}"
            assert not link.name or names.exists(link.name), f"{page}: {link.name}"


@pytest.mark.parametrize(
    ("path", "exists"),
    [
        ("ntuple.td.targets.learn_forward", True),
        ("ntuple.td.targets.METHODS", True),
        ("muzero2048.models.base.Model.dynamics", True),
        ("launch.experiment.metrics.Row", True),
        ("ntuple.td.targets.learn_forwards", False),
        ("muzero2048.models.base.Model.dynamic", False),
        ("ntuple.td.nowhere.learn", False),
    ],
)
def test_a_name_exists(path: str, exists: bool):
    assert names.exists(path) == exists


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("[a](../train.md#on-a-gpu)", "[a](../train.md#on-a-gpu)"),
        ("[a](../../CONTRIBUTING.md#style)", "[a](../contributing.md#style)"),
        ("[a](../../README.md)", "[a](../about.md)"),
        ("[`learn`](../../ntuple/td/targets.py)", "[`learn`][ntuple.td.targets.learn]"),
        ("[the file](../../ntuple/td/targets.py)", "[the file](../reference/code/ntuple.td.targets.md)"),
        ("[a](../../configs/quick/ntuple.yaml)", "[a](../reference/configs.md#quick-ntuple)"),
        ("[a](../../Makefile)", "[a](../reference/files/Makefile.md)"),
        ("![a](../images/mcts_time.png)", "![a](../images/mcts_time.png)"),
        ("[a](https://x.org/y) [b](#c)", "[a](https://x.org/y) [b](#c)"),
        ("see docs/algorithms/gumbel.md.", "see [docs/algorithms/gumbel.md](gumbel.md)."),
        ("see docs/train.md.", "see [docs/train.md](../train.md)."),
        ("configs/quick/ntuple.yaml", "[configs/quick/ntuple.yaml](../reference/configs.md#quick-ntuple)"),
        ("`docs/train.md`", "`docs/train.md`"),
        ("`[a](../train.md)`", "`[a](../train.md)`"),
    ],
)
def test_links_in_the_site(text: str, rewritten: str):
    assert links.rewrite_links("docs/algorithms/td.md", "algorithms/td.md", text) == rewritten


def test_a_dead_link():
    with pytest.raises(FileNotFoundError, match=r"there is no file docs/nowhere\.md"):
        links.rewrite_links("docs/train.md", "train.md", "[a](nowhere.md)")


def test_every_public_name_has_a_docstring(monkeypatch):
    assert names.undocumented() == []
    monkeypatch.setattr(names.ast, "get_docstring", lambda node: None if node.name == "read_metrics" else "text")
    assert names.undocumented() == ["launch.library.read_metrics"]
    with pytest.raises(reference.UndocumentedError, match=r"no docstring: launch\.library\.read_metrics"):
        reference.pages()


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_key_is_in_the_reference(learner: str, generated: dict[str, str]):
    text = generated["reference/keys/run.md"] + generated[f"reference/keys/{learner}.md"]
    for key in learner_keys(learner):
        assert text.count(f'<a id="{key.name}"></a>') == 1
        assert key.meaning


def test_every_key_of_a_search_is_in_the_reference(generated: dict[str, str]):
    for kind in searches.SEARCHES.values():
        for key in reference.keys_of(kind(), "search."):
            assert generated["reference/keys/search.md"].count(f'id="{kind().__name__}-{key.name}"') == 1


def test_the_conditions_of_keys(generated: dict[str, str]):
    assert r"Only with `ntuple.target.method=n_step\|lambda_return`." in generated["reference/keys/ntuple.md"]
    assert "Only with `search.choice=drawn`." in generated["reference/keys/search.md"]


def test_a_key_without_meaning(monkeypatch):
    key = learner_keys("ntuple")[-1]._replace(meaning="", name="ntuple.a")
    monkeypatch.setattr(reference, "learner_keys", lambda _: [key])
    with pytest.raises(reference.UndocumentedError, match=r"the key ntuple\.a has no meaning"):
        reference.keys_page("Keys", "ntuple", "ntuple")


def test_every_metric_is_in_the_reference(generated: dict[str, str], monkeypatch):
    for name, metric in metrics.REGISTRY.items():
        assert generated["reference/metrics.md"].count(f"| `{name}` | {metric.unit} |") == 1
    monkeypatch.setitem(reference.METRICS, "Axes", (metrics.Metric("a", "", "text"), *metrics.AXES))
    with pytest.raises(reference.UndocumentedError, match="the metric a has no unit"):
        reference.metrics_page()
    monkeypatch.setitem(reference.METRICS, "Axes", metrics.AXES[1:])
    with pytest.raises(reference.UndocumentedError, match="leaves out env_steps"):
        reference.metrics_page()


def test_every_command_is_in_the_reference(generated: dict[str, str]):
    text = generated["reference/commands.md"]
    assert str(ROOT) not in text
    for words in ("train", "submit", "serve", "network fold", "wandb sync"):
        assert f"# muzero2048 {words}\n" in text
    assert "| `--simulations N` | simulations of a tree search per move |" in text


def test_an_option_without_help():
    parser = make_parser()
    [commands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    commands.choices["solve"].add_argument("--nothing")
    with pytest.raises(reference.UndocumentedError, match=r"the word --nothing NOTHING of .* has no help"):
        reference.commands_page(parser)


def test_every_example_config_is_in_the_reference(generated: dict[str, str]):
    for path in (ROOT / "configs").rglob("*.yaml"):
        relative = path.relative_to(ROOT).as_posix()
        assert f"### {path.name} {{ #{links.anchor_of(relative)} }}" in generated["reference/configs.md"]
        assert path.read_text(encoding="utf-8").strip() in generated["reference/configs.md"]
