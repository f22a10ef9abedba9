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
