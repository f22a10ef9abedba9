"""What tensorboard's plugins show: curves, meshes, sounds, layouts and points of embeddings."""

import importlib
import io
import json
import math
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.tensors.tensor import Tensor

np = numpy_backend.xp
_PROTO = "tensorboard.compat.proto"
_summaries, _tensors, _shapes = (
    importlib.import_module(f"{_PROTO}.{name}")
    for name in ("summary_pb2", "tensor_pb2", "tensor_shape_pb2")
)
Summary, Metadata = _summaries.Summary, _summaries.SummaryMetadata

_LEAST = 1e-7  # of a denominator
_THRESHOLDS = 127  # the most that a curve has


def array_of(values: Any) -> Any:
    """Values as an array of NumPy's."""
    return values.numpy_array() if isinstance(values, Tensor) else np.asarray(values)


def of_plugin(name: str, content: bytes = b"") -> Any:
    """What says which plugin shows a value."""
    return Metadata(plugin_data=Metadata.PluginData(plugin_name=name, content=content))


def _tensor(array: Any) -> Any:
    """Numbers as tensorboard's files hold them."""
    sizes = [_shapes.TensorShapeProto.Dim(size=size) for size in array.shape]
    shape = _shapes.TensorShapeProto(dim=sizes)
    flat = array.astype("float32").reshape(-1).tolist()
    return _tensors.TensorProto(dtype="DT_FLOAT", float_val=flat, tensor_shape=shape)


def tensor_value(tag: str, values: Any) -> Any:
    """Any numbers."""
    return Summary.Value(tag=tag, metadata=of_plugin("tensor"), tensor=_tensor(array_of(values)))


# ---- pictures ----


def pixels_of(values: Any, dimensions: str) -> Any:
    """A picture as bytes by height, width and colour."""
    pixels = array_of(values)
    if len(dimensions) != pixels.ndim:
        raise ValueError(f"{dimensions} names no {pixels.ndim} dimensions")
    order = [dimensions.index(letter) for letter in "HWC" if letter in dimensions]
    pixels = pixels.transpose(order)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if pixels.dtype != "uint8":
        pixels = (pixels * 255).clip(0, 255).astype("uint8")
    return pixels


def framed(pixels: Any, boxes: Any, scale: float, names: Any) -> Any:
    """A picture with a red frame around each box, and its name beside it."""
    from PIL import Image, ImageDraw

    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).convert("RGB")
    draw = ImageDraw.Draw(image)
    listed = [names] if isinstance(names, str) else names
    if listed is not None and len(listed) != len(boxes):
        listed = None  # as PyTorch leaves them out
    for number, box in enumerate(boxes.tolist()):
        left, top, right, bottom = box
        round_it = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(round_it, fill="red", width=2)
        if listed is not None:
            draw.text((left + 2, top), str(listed[number]), fill="red")
    if scale != 1:
        image = image.resize((round(image.width * scale), round(image.height * scale)))
    return np.asarray(image)


# ---- curves of precision and recall ----


def curve_value(tag: str, rows: Any, thresholds: int) -> Any:
    """A curve of true and false positives and negatives, precision and recall."""
    plugin = importlib.import_module("tensorboard.plugins.pr_curve.metadata")
    metadata = plugin.create_summary_metadata("", "", min(thresholds, _THRESHOLDS))
    return Summary.Value(tag=tag, metadata=metadata, tensor=_tensor(array_of(rows)))


def curve_of(labels: Any, predictions: Any, thresholds: int, weights: Any) -> Any:
    """The rows of such a curve, by how many labels lie at or above each threshold."""
    count = min(thresholds, _THRESHOLDS)
    true, given = array_of(labels).astype("float64"), array_of(predictions)
    if true.shape != given.shape:
        raise ValueError(
            f"add_pr_curve: labels have the shape {true.shape}, predictions {given.shape}"
        )
    weighed = 1.0 if weights is None else array_of(weights)
    places = np.int32(np.floor(given * (count - 1)))
    positives = [
        np.histogram(places, count, (0, count - 1), weights=some * weighed)[0][::-1].cumsum()[::-1]
        for some in (true, 1 - true)
    ]
    tp, fp = positives
    tn, fn = fp[0] - fp, tp[0] - tp
    precision, recall = (tp / np.maximum(_LEAST, whole) for whole in (tp + fp, tp + fn))
    return np.stack([tp, fp, tn, fn, precision, recall])


# ---- layouts ----


def layout_value(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Any:
    """Which numbers are drawn together: charts by category, each a kind and the tags it shows."""
    plugin = importlib.import_module("tensorboard.plugins.custom_scalar.layout_pb2")
    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise ValueError(
                        f"add_custom_scalars: {title!r} wants 3 tags, got {list(tags)}"
                    )
                series = plugin.MarginChartContent.Series(
                    value=tags[0], lower=tags[1], upper=tags[2]
                )
                content = {"margin": plugin.MarginChartContent(series=[series])}
            else:
                content = {"multiline": plugin.MultilineChartContent(tag=list(tags))}
            made.append(plugin.Chart(title=title, **content))
        categories.append(plugin.Category(title=category, chart=made))
    text = plugin.Layout(category=categories).SerializeToString()
    tensor = _tensors.TensorProto(
        dtype="DT_STRING", string_val=[text], tensor_shape=_shapes.TensorShapeProto()
    )
    metadata = of_plugin("custom_scalars")
    return Summary.Value(tag="custom_scalars__config__", metadata=metadata, tensor=tensor)


# ---- meshes and sounds ----


def mesh_values(tag: str, vertices: Any, colors: Any, faces: Any, settings: Any) -> list[Any]:
    """A batch of meshes: where their corners are, which faces they have, and in which colours."""
    plugin = importlib.import_module("tensorboard.plugins.mesh.metadata")
    kinds = importlib.import_module("tensorboard.plugins.mesh.plugin_data_pb2").MeshPluginData
    parts = {kinds.VERTEX: vertices, kinds.FACE: faces, kinds.COLOR: colors}
    there = {kind: array_of(part) for kind, part in parts.items() if part is not None}
    for part in there.values():
        if part.ndim != 3 or part.shape[2] != 3:
            raise ValueError(f"add_mesh: expected the shape (batch, count, 3), got {part.shape}")
    mask, text = plugin.get_components_bitmask(list(there)), json.dumps(settings or {})
    return [
        Summary.Value(
            tag=plugin.get_instance_name(tag, kind),
            tensor=_tensor(part),
            metadata=plugin.create_summary_metadata(tag, "", kind, mask, part.shape, "", text),
        )
        for kind, part in there.items()
    ]


def sound_value(tag: str, values: Any, rate: int) -> Any:
    """A sound of one channel, in numbers from -1 to 1; louder ones are cut."""
    samples = np.squeeze(array_of(values))
    if samples.ndim != 1:
        raise AssertionError(f"add_audio: expected one channel, got the shape {samples.shape}")
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())
    sound = Summary.Audio(
        sample_rate=rate,
        num_channels=1,
        length_frames=samples.size,
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary.Value(tag=tag, audio=sound)


# ---- points of an embedding ----


def _lines(rows: Any) -> str:
    return "".join("\t".join(str(each) for each in row) + "\n" for row in rows)


def _sprite(pictures: Any) -> Any:
    """Small pictures as one that is square, with bytes for each colour."""
    count, _, height, width = pictures.shape
    side = math.ceil(math.sqrt(count))
    room = np.zeros((side * side, 3, height, width))
    room[:count] = pictures
    tiles = room.reshape(side, side, 3, height, width).transpose(0, 3, 1, 4, 2)
    return (tiles.reshape(side * height, side * width, 3) * 255).clip(0, 255).astype("uint8")


def save_points(
    folder: str, place: str, points: Any, names: Any, pictures: Any, header: Any
) -> dict[str, Any]:
    """Write points into a folder below one, with names and pictures; what the projector is told."""
    from PIL import Image

    rows = array_of(points)
    if rows.ndim != 2:
        raise AssertionError(f"add_embedding: expected a point in each row, got {rows.shape}")
    found = {"names": names, "pictures": None if pictures is None else array_of(pictures)}
    for what, some in found.items():
        if some is not None and len(some) != len(rows):
            raise AssertionError(f"add_embedding: {len(some)} {what} for {len(rows)} points")
    home = Path(folder, place)
    home.mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = {}
    if names is not None:
        listed = [header, *names] if header else [[name] for name in names]
        (home / "metadata.tsv").write_text(_lines(listed), encoding="utf-8")
        told["metadata_path"] = f"{place}/metadata.tsv"
    if found["pictures"] is not None:
        Image.fromarray(_sprite(found["pictures"])).save(home / "sprite.png")
        told["sprite"] = {
            "image_path": f"{place}/sprite.png",
            "single_image_dim": [found["pictures"].shape[3], found["pictures"].shape[2]],
        }
    (home / "tensors.tsv").write_text(_lines(rows.tolist()), encoding="utf-8")
    told["tensor_path"] = f"{place}/tensors.tsv"
    return told


def tell_projector(folder: str, name: str, told: dict[str, Any]) -> None:
    """Add points to what the projector of a folder shows."""
    plugin = importlib.import_module("tensorboard.plugins.projector.projector_config_pb2")
    text_format = importlib.import_module("google.protobuf.text_format")
    config = plugin.ProjectorConfig(embeddings=[plugin.EmbeddingInfo(tensor_name=name, **told)])
    with Path(folder, "projector_config.pbtxt").open("a", encoding="utf-8") as file:
        file.write(text_format.MessageToString(config, as_utf8=True))
