"""Logs for tensorboard, read back by the package itself."""

import importlib
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint.compat.torch as torch


def read(folder):
    """What tensorboard finds in a folder."""
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = events.EventAccumulator(str(folder))
    found.Reload()
    return found


def test_a_log_is_read_back(tmp_path):
    pytest.importorskip("tensorboard")
    with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1), requires_grad=True), step)
        writer.add_histogram("weights", torch.arange(10.0), 0)
        writer.add_text("note", "some *text*", 0)
        writer.add_image("picture", torch.full((3, 4, 5), 0.5), 0)
        writer.add_scalars("both", {"a": 1, "b": np.float32(2.5)}, 0)
        assert writer.get_logdir() == str(tmp_path)
    found = read(tmp_path)
    assert [(e.step, round(e.value, 4)) for e in found.Scalars("loss")] == [
        (0, 1.0),
        (1, 0.5),
        (2, 0.3333),
    ]
    histogram = found.Histograms("weights")[0].histogram_value
    assert (histogram.num, histogram.sum, sum(histogram.bucket)) == (10, 45, 10)
    assert (found.Images("picture")[0].width, found.Images("picture")[0].height) == (5, 4)
    assert found.Tags()["tensors"] == ["note/text_summary"]
    assert read(tmp_path / "both_b").Scalars("both")[0].value == 2.5


def test_pictures_in_a_grid_and_settings_of_a_run(tmp_path):
    pytest.importorskip("tensorboard")
    pictures = pytest.importorskip("PIL.Image")
    shown = torch.arange(9 * 3 * 2 * 4).reshape(9, 3, 2, 4).to(torch.uint8)
    with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_images("all", shown, 1)
        writer.add_hparams({"rate": 0.1, "name": "a"}, {"loss": torch.tensor(0.5)}, run_name="run")
    whole = np.asarray(
        pictures.open(io.BytesIO(read(tmp_path).Images("all")[0].encoded_image_string))
    )
    assert whole.shape == (4, 32, 3)  # eight in a row, and one below
    assert whole[:2, 4:8].tolist() == shown[1].permute(1, 2, 0).tolist()
    assert whole[2:, :4].tolist() == shown[8].permute(1, 2, 0).tolist()
    found = read(tmp_path / "run")
    assert found.Scalars("loss")[0].value == 0.5
    assert {"_hparams_/experiment", "_hparams_/session_start_info"} <= set(found.summary_metadata)


def test_bad_input_is_refused(tmp_path):
    pytest.importorskip("tensorboard")
    with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("weights", torch.ones(0))
        with pytest.raises(ValueError, match="CHW names no 2 dimensions"):
            writer.add_image("picture", torch.ones(3, 4))
        with pytest.raises(ValueError, match="NCHW names no 3 dimensions"):
            writer.add_images("pictures", torch.ones(3, 4, 5))
        with pytest.raises(ValueError, match="reshape"):
            writer.add_scalar("loss", torch.ones(2))


def test_without_the_package_the_import_fails():
    script = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "try:\n    from adjoint.compat.torch.utils.tensorboard import SummaryWriter\n"
        "except ImportError as error:\n    print('refused', 'tensorboard' in str(error))\n"
    )
    home = Path(torch.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=home, capture_output=True, text=True, check=True
    )
    assert done.stdout == "refused True\n"


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer is an ImportError then; what tools ask of every module is not."""
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in list(sys.modules):
        if name.startswith("tensorboard.") or name.endswith("utils.tensorboard"):
            monkeypatch.delitem(sys.modules, name)
    module = importlib.import_module("adjoint.compat.torch.utils.tensorboard")
    assert getattr(module, "__file__", None) is None
    with pytest.raises(ImportError):
        module.SummaryWriter  # noqa: B018


RNG = np.random.default_rng(0)
LABELS, CHANCES, WEIGHTS = RNG.integers(0, 2, 50), RNG.random(50).astype("f4"), RNG.random(50)
CORNERS, SHADES = RNG.random((1, 4, 3)).astype("f4"), RNG.integers(0, 255, (1, 4, 3))
PICTURE, POINTS = RNG.random((3, 20, 20)).astype("f4"), RNG.random((5, 3)).astype("f4")
BOXES, TILES = np.float32([[2, 3, 10, 12]]), RNG.random((5, 3, 4, 4)).astype("f4")
CAMERA = {"camera": {"cls": "PerspectiveCamera", "fov": 75}}

PLUGINS = {
    "curve": lambda w, t: w.add_pr_curve("a", t(LABELS), t(CHANCES), 3),
    "weighed curve": lambda w, t: w.add_pr_curve("a", t(LABELS), t(CHANCES), 3, 5, WEIGHTS),
    "counted curve": lambda w, t: w.add_pr_curve_raw(
        "a", [3, 2], [1, 0], [4, 5], [0, 1], [0.75, 1.0], [1.0, 0.6], 2, num_thresholds=2
    ),
    "layout": lambda w, t: w.add_custom_scalars(
        {"one": {"lines": ["Multiline", ["x", "y"]], "band": ["Margin", ["a", "b", "c"]]}}
    ),
    "lines": lambda w, t: w.add_custom_scalars_multilinechart(["x", "y"]),
    "band": lambda w, t: w.add_custom_scalars_marginchart(["p", "q", "r"], "some", "title"),
    "mesh": lambda w, t: w.add_mesh(
        "a", t(CORNERS), t(SHADES), t(np.array([[[0, 1, 2], [1, 2, 3]]])), CAMERA, 1
    ),
    "points of a mesh": lambda w, t: w.add_mesh("a", t(CORNERS)),
    "sound": lambda w, t: w.add_audio("a", t(np.sin(np.arange(90) / 9))[None], 1, 8000),
    "numbers": lambda w, t: w.add_tensor("a", t(POINTS), 4),
    "counts": lambda w, t: w.add_histogram_raw(
        "a", 0.0, 1.0, 3, 1.5, 1.0, [0.3, 0.6, 1.0], [1, 1, 1], 2
    ),
    "boxes": lambda w, t: w.add_image_with_boxes("a", t(PICTURE), t(BOXES), 1),
    "embedding": lambda w, t: w.add_embedding(
        t(POINTS), [1, 2.5, "x y", None, "t"], t(TILES), 7, "a b/c%"
    ),
    "named columns": lambda w, t: w.add_embedding(
        t(POINTS[:2]), [["a", "1"], ["b", "2"]], metadata_header=["letter", "number"]
    ),
}


def written(library, folder, write):
    """The events of a log as text, and the files beside them."""
    loading = importlib.import_module("tensorboard.backend.event_processing.event_file_loader")
    with library.utils.tensorboard.SummaryWriter(folder) as writer:
        write(writer, library.as_tensor)
    events = []
    for file in folder.glob("events*"):
        for event in loading.LegacyEventFileLoader(str(file)).Load():
            event.ClearField("wall_time")
            event.ClearField("source_metadata")
            events.append(str(event))
    others = [f for f in folder.rglob("*") if f.is_file() and not f.name.startswith("events")]
    return events, {str(f.relative_to(folder)): f.read_bytes() for f in others}


@pytest.mark.parametrize("name", PLUGINS)
def test_what_plugins_show_is_what_pytorch_writes(name, tmp_path):
    pytest.importorskip("tensorboard")
    pytest.importorskip("PIL")
    real = pytest.importorskip("torch")
    pytest.importorskip("torch.utils.tensorboard")
    found = written(torch, tmp_path / "ours", PLUGINS[name])
    assert found == written(real, tmp_path / "theirs", PLUGINS[name])
    assert len(found[0]) + len(found[1]) > 1


def test_what_no_plugin_can_show_is_refused(tmp_path):
    pytest.importorskip("tensorboard")
    with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match=r"labels have the shape \(50,\), predictions \(3,\)"):
            writer.add_pr_curve("a", torch.as_tensor(LABELS), torch.ones(3))
        with pytest.raises(AssertionError, match="1 names for 2 points"):
            writer.add_embedding(torch.ones(2, 3), ["a"])
        with pytest.raises(ValueError, match="batch, count, 3"):
            writer.add_mesh("a", torch.ones(4, 3))
        with pytest.raises(NotImplementedError, match="torch.jit"):
            writer.add_graph(torch.nn.ReLU())
    assert not list(tmp_path.glob("00000"))
