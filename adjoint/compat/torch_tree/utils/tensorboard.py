"""torch.utils.tensorboard: logs that the package tensorboard, which must be there, shows."""

import datetime as dt
import importlib
import io
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, Self

from adjoint.backends.numpy import numpy_backend
from adjoint.compat import tensorboard_plugins as plugins
from adjoint.tensors.tensor import Tensor

np = numpy_backend.xp
_PROTO = "tensorboard.compat.proto"
_events, _summaries, _tensors, _shapes, _files = map(
    importlib.import_module,
    (
        f"{_PROTO}.event_pb2",
        f"{_PROTO}.summary_pb2",
        f"{_PROTO}.tensor_pb2",
        f"{_PROTO}.tensor_shape_pb2",
        "tensorboard.summary.writer.event_file_writer",
    ),
)
Event, Summary, EventFileWriter = _events.Event, _summaries.Summary, _files.EventFileWriter


class SummaryWriter:
    """Writes numbers, histograms, pictures and texts into a folder, for tensorboard to show."""

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = dt.datetime.now(tz=dt.UTC).astimezone().strftime("%b%d_%H-%M-%S")
            log_dir = Path("runs") / f"{now}_{socket.gethostname()}{comment}"
        self.log_dir = str(log_dir)
        self._settings = (max_queue, flush_secs, filename_suffix)
        self._writers = {self.log_dir: EventFileWriter(self.log_dir, *self._settings)}
        if purge_step is not None:
            self._event(Event(wall_time=time.time(), step=purge_step))

    def get_logdir(self) -> str:
        """The folder that is written into."""
        return self.log_dir

    def _event(self, event: Any, folder: str | None = None) -> None:
        where = folder or self.log_dir
        if where not in self._writers:
            self._writers[where] = EventFileWriter(where, *self._settings)
        self._writers[where].add_event(event)

    def _write(self, value: Any, step: Any, walltime: Any, folder: str | None = None) -> None:
        event = Event(wall_time=time.time() if walltime is None else walltime)
        values = value if isinstance(value, list) else [value]
        event.summary.CopyFrom(Summary(value=values))
        if step is not None:
            event.step = int(step)
        self._event(event, folder)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number at a step."""
        number = float(plugins.array_of(scalar_value).reshape(()))
        self._write(Summary.Value(tag=tag, simple_value=number), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Several numbers at a step, for one figure: each in a folder of its own."""
        for tag, number in tag_scalar_dict.items():
            value = Summary.Value(
                tag=main_tag, simple_value=float(plugins.array_of(number).reshape(()))
            )
            folder = str(Path(self.log_dir) / f"{main_tag}_{tag}".replace("/", "_"))
            self._write(value, global_step, walltime, folder)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How values are distributed."""
        flat = plugins.array_of(values).astype("float64").reshape(-1)
        if flat.size == 0:
            raise ValueError("The input has no element.")
        counts, limits = np.histogram(flat, bins=30 if bins == "tensorflow" else bins)
        histogram = _summaries.HistogramProto(
            min=flat.min(),
            max=flat.max(),
            num=flat.size,
            sum=flat.sum(),
            sum_squares=flat.dot(flat),
            bucket_limit=limits[1:].tolist(),
            bucket=counts.tolist(),
        )
        self._write(Summary.Value(tag=tag, histo=histogram), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: numbers from 0 to 1, or bytes, with the dimensions that dataformats names."""
        from PIL import Image

        pixels = plugins.pixels_of(img_tensor, dataformats)
        file = io.BytesIO()
        Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, "PNG")
        height, width, channels = pixels.shape
        image = Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue()
        )
        self._write(Summary.Value(tag=tag, image=image), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Several pictures as one, up to eight in a row."""
        pixels = plugins.array_of(img_tensor)
        if len(dataformats) != pixels.ndim or "C" not in dataformats:
            raise ValueError(f"{dataformats} names no {pixels.ndim} dimensions of pictures")
        pixels = pixels.transpose([dataformats.index(letter) for letter in "NHWC"])
        count, height, width, channels = pixels.shape
        columns = min(8, count)
        rows = -(-count // columns)
        grid = np.zeros((rows * height, columns * width, channels), pixels.dtype)
        for i, picture in enumerate(pixels):
            top, left = i // columns * height, i % columns * width
            grid[top : top + height, left : left + width] = picture
        self.add_image(tag, grid, global_step, walltime, "HWC")

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Settings of a run and what came of them, in a folder of their own."""
        api = importlib.import_module("tensorboard.plugins.hparams.summary_v2")
        folder = str(Path(self.log_dir) / (run_name or str(time.time())))
        plain = {
            name: value.item() if isinstance(value, Tensor) else value
            for name, value in hparam_dict.items()
        }
        metrics = [api.Metric(name) for name in metric_dict]
        settings = [api.HParam(name) for name in plain]
        for summary in (api.hparams_config_pb(settings, metrics), api.hparams_pb(plain)):
            for value in summary.value:
                self._write(value, None, None, folder)
        for name, number in metric_dict.items():
            value = Summary.Value(
                tag=name, simple_value=float(plugins.array_of(number).reshape(()))
            )
            self._write(value, global_step, None, folder)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of matplotlib's, as a picture."""
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        self.add_image(tag, pixels, global_step, walltime, "HWC")
        if close:
            from matplotlib import pyplot as plt

            plt.close(figure)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A text, which may be Markdown."""
        shape = _shapes.TensorShapeProto(dim=[_shapes.TensorShapeProto.Dim(size=1)])
        tensor = _tensors.TensorProto(
            dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=shape
        )
        value = Summary.Value(
            tag=f"{tag}/text_summary", metadata=plugins.of_plugin("text"), tensor=tensor
        )
        self._write(value, global_step, walltime)

    # ---- what plugins show ----

    def add_tensor(
        self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Any numbers."""
        self._write(plugins.tensor_value(tag, tensor), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """How values are distributed, counted by the program."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"add_histogram_raw: {len(bucket_limits)} limits for {len(bucket_counts)} counts"
            )
        histogram = _summaries.HistogramProto(
            min=min,
            max=max,
            num=num,
            sum=sum,
            sum_squares=sum_squares,
            bucket_limit=bucket_limits,
            bucket=bucket_counts,
        )
        self._write(Summary.Value(tag=tag, histo=histogram), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """A picture in which boxes are framed, each by its left, top, right and bottom."""
        pixels = plugins.pixels_of(img_tensor, dataformats)
        framed = plugins.framed(pixels, plugins.array_of(box_tensor), rescale, labels)
        self.add_image(tag, framed, global_step, walltime, "HWC")

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision and recall of chances, by the threshold from which on they are taken."""
        rows = plugins.curve_of(labels, predictions, num_thresholds, weights)
        self._write(plugins.curve_value(tag, rows, num_thresholds), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """The same, counted by the program."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts)
        rows = [
            plugins.array_of(row) for row in (*counts, false_negative_counts, precision, recall)
        ]
        value = plugins.curve_value(tag, np.stack(rows), num_thresholds)
        self._write(value, global_step, walltime)

    def add_custom_scalars(self, layout: Mapping[str, Any]) -> None:
        """Which numbers are drawn together, by category and title."""
        self._write(plugins.layout_value(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Any, category: str = "default", title: str = "untitled"
    ) -> None:
        """Some numbers in one figure."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Any, category: str = "default", title: str = "untitled"
    ) -> None:
        """A number with a lower and an upper one around it."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Meshes or clouds of points."""
        values = plugins.mesh_values(tag, vertices, colors, faces, config_dict)
        self._write(values, global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound."""
        self._write(plugins.sound_value(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Points, with names and small pictures."""
        step = f"{global_step or 0:05}"
        told = plugins.save_points(
            self.log_dir,
            f"{step}/{tag.replace('%', '%25').replace('/', '%2f').replace(chr(92), '%5c')}",
            mat,
            metadata,
            label_img,
            metadata_header,
        )
        plugins.tell_projector(self.log_dir, f"{tag}:{step}", told)

    def _absent(self, name: str, wanted: str) -> NoReturn:
        raise NotImplementedError(f"SummaryWriter.{name}: {wanted}, which adjoint has not")

    def add_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        self._absent("add_graph", "it shows graphs of torch.jit's traces")

    def add_onnx_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        self._absent("add_onnx_graph", "it reads files of ONNX")

    def add_video(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        self._absent("add_video", "it wants moviepy to make pictures that move")

    def flush(self) -> None:
        """Write what waits."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and end."""
        for writer in self._writers.values():
            writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
