import pytest

from ntuple import NTupleConfig


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ({"rows": 5}, "board of 5x4"),
        ({"network": "4x7"}, "network '4x7'"),
        ({"rows": 2, "columns": 2}, "leaves the 2x2 board"),
        ({"env_steps": 0}, "env_steps = 0"),
        ({"report_env_steps": -1}, "report_env_steps = -1"),
        ({"threads": -1}, "threads = -1"),
        ({"td_alpha": 0.0}, "td_alpha = 0.0"),
        ({"tc_alpha": 3.0}, "tc_alpha = 3.0"),
        ({"tc_fraction": 1.5}, "tc_fraction = 1.5"),
        ({"v_init": float("nan")}, "v_init = nan"),
    ],
)
def test_mistakes_are_refused_by_name(mistake: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        NTupleConfig(**mistake)
    assert "\n" not in str(caught.value)


def test_where_tc_starts() -> None:
    starts = [NTupleConfig(env_steps=1000, tc_fraction=p).tc_starts for p in (0.0, 0.1, 1.0)]
    assert starts == [1000, 900, 0]
