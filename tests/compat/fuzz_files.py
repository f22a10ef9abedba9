"""Loads thousands of damaged files in a process of its own: each gives plain values or an error.

Run as `python tests/compat/fuzz_files.py COUNT SEED`; it prints how many of each form were loaded
and refused, and stops at the first file that does anything else.
"""

import io
import json
import pickle
import random
import sys
import warnings
import zipfile
from collections import Counter, OrderedDict

import adjoint
import adjoint.compat.torch as compat
from adjoint.compat.torch_files import rebuilding, unpickling
from adjoint.device import device
from adjoint.dtypes import dtype

PLAIN = {type(None), bool, int, float, complex, str, bytes, bytearray, slice, range}
PLAIN |= {compat.Size, dtype, device}
INSTRUCTIONS = [code[0] for code in unpickling._STEPS]
NUMBERS = [0, 1, 2, 3, 4, 8, 16, 0x7F, 0x80, 0xFF]
NAMES = [f"{module}\n{name}\n".encode() for module, name in (*rebuilding.NAMES, *unpickling._OWN)]


def values():
    """What the files hold that are damaged."""
    whole = compat.arange(12.0).reshape(3, 4)
    marked = compat.nn.Parameter(compat.ones(2))
    marked.note = "text"
    yield OrderedDict(whole=whole, row=whole[1], across=whole.T, alone=compat.ones(0, 3))
    yield [marked, compat.tensor([True, False]), compat.ones(3, dtype=compat.uint16)]
    yield {
        "plain": [None, True, 3, 2**70, 0.5, "text", b"bytes", (1, (2,)), {1: {2}}, 1j],
        "kinds": [compat.Size([2]), compat.float16, compat.device("cpu"), Counter("aab")],
    }
    yield compat.nn.Linear(2, 3).state_dict()


def saved(value, archive):
    file = io.BytesIO()
    compat.save(value, file, _use_new_zipfile_serialization=archive)
    return file.getvalue()


def damaged(content, chance):
    """The same bytes, some of them changed, moved, lost or doubled."""
    made = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        place = chance.randrange(len(made) + 1)
        what = chance.randrange(8)
        if what == 0:
            made[place : place + 1] = bytes([chance.randrange(256)])
        elif what == 1:
            made[place : place + 1] = bytes([chance.choice(INSTRUCTIONS)])
        elif what == 2:
            made[place : place + 1] = bytes([chance.choice(NUMBERS)])
        elif what == 3:
            del made[place : place + chance.choice([1, 1, 2, 4, 30])]
        elif what == 4:
            start = chance.randrange(len(made) + 1)
            made[place:place] = made[start : start + chance.choice([1, 2, 8, 60])]
        elif what == 5:
            width = chance.choice([2, 4, 8])
            made[place : place + width] = chance.choice([0, 1, 2 ** (8 * width - 1) - 1]).to_bytes(
                width, "little"
            )
        elif what == 6:
            made[place:place] = pickle.GLOBAL + chance.choice(NAMES)
        else:
            made[place:place] = chance.choice([b"b", b"R", b"Q", b"}", b"(", b"t", b"0", b"2"])
    return bytes(made)


def damaged_inside(content, chance):
    """An archive whose pickle, or whose lengths of storages, are damaged but not its checksums."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            inner = old.read(name)
            if name.endswith("data.pkl") or chance.randrange(10) == 0:
                inner = damaged(inner, chance)
            if chance.randrange(50):
                new.writestr(name, inner)
    return file.getvalue()


def header_damaged(content, chance):
    """A safetensors file whose header is damaged, but not its length."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    name = chance.choice([key for key in header if key != "__metadata__"])
    field = chance.choice(["shape", "data_offsets", "dtype", "text"])
    if field == "text":
        text = damaged(header["__metadata__"]["adjoint"].encode(), chance).decode("latin1")
        header["__metadata__"]["adjoint"] = text
    elif field == "dtype":
        header[name][field] = chance.choice(["BOOL", "F64", "I8", "BF16", "C64", "O"])
    else:
        header[name][field] = [chance.choice([-1, 0, 1, 2, 3, 4, 2**31, 2**63]) for _ in range(2)]
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def check(value, seen):
    """Stop if anything but plain values has been loaded; use what has been."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        members = list(value)
    elif kind in (dict, OrderedDict, Counter):
        members = [*value, *value.values(), *getattr(value, "__dict__", {}).values()]
    elif kind in (compat.Tensor, compat.nn.Parameter):
        members = []
        if value.numel() < 10_000 and max((0, *value.shape)) < 10_000:
            value.detach().clone().tolist()
            value.detach().zero_()
    elif kind is compat.storage.TypedStorage:
        members = [value.memory]
    elif kind in PLAIN:
        members = []
    else:
        raise SystemExit(f"a {kind.__name__} was loaded")
    for one in members:
        check(one, seen)


def state():
    """What no file may change."""
    kinds = (compat.Size, compat.Tensor, compat.nn.Parameter, dtype, device)
    functions = [each for each in rebuilding.NAMES.values() if callable(each)]
    return (
        [dict(vars(kind)) for kind in kinds],
        [(each.__defaults__, dict(vars(each)), each.__code__) for each in functions],
        [(each.name, each.itemsize) for each in adjoint.dtypes.ALL],
    )


def forms():
    """Each form of file: how it is damaged, how it is loaded, and how it may be refused."""
    refusals = (pickle.UnpicklingError, RuntimeError)
    for value in values():
        archive, older = saved(value, True), saved(value, False)
        yield "archive", archive, damaged, compat.load, refusals
        yield "pickle of an archive", archive, damaged_inside, compat.load, refusals
        yield "older", older, damaged, compat.load, refusals
        file = io.BytesIO()
        adjoint.save(value, file)
        yield "safetensors", file.getvalue(), damaged, adjoint.load, (ValueError, RuntimeError)
        if any(isinstance(each, compat.Tensor) for each in value):
            continue
        if isinstance(value, OrderedDict):
            content = file.getvalue()
            yield "header", content, header_damaged, adjoint.load, (ValueError, RuntimeError)


def main(count, seed):
    """Load so many damaged files of each form."""
    warnings.simplefilter("ignore")
    chance, counts, before = random.Random(seed), Counter(), state()
    cases = list(forms())
    for number in range(count):
        form, content, damage, load, refusals = cases[number % len(cases)]
        hostile = damage(content, chance)
        try:
            loaded = load(io.BytesIO(hostile))
        except refusals:
            counts[form, "refused"] += 1
        except BaseException:
            print(f"{form}, number {number}: {hostile!r}", flush=True)
            raise
        else:
            counts[form, "loaded"] += 1
            check(loaded, {})
    if state() != before:
        raise SystemExit("a file has changed a class or a function")
    for (form, what), found in sorted(counts.items()):
        print(f"{form}: {found} {what}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
