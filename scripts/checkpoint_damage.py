"""Ways to damage checkpoints, some of which get deep into a reader: lengths that lie, checksums that are right."""

import io
import os
import random
import re
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

from checkpoint_files import Sample, zipped
from fuzzing import (
    Mutation,
    cut_off,
    cut_out,
    flip_bits,
    flip_bits_of_head,
    insert_junk,
    overwrite,
    swap_pieces,
)

from ssd_detect.model.readers.crc32c import crc32c
from ssd_detect.model.readers.sniff import TABLE_MAGIC
from ssd_detect.model.readers.sstable import Table


def huge_numbers(content: bytearray, rng: random.Random) -> None:
    """Claim a huge length, count or place, in binary: in the first or the last bytes, where most such numbers are."""
    size = rng.choice([1, 2, 4, 8])
    number = rng.choice([(1 << 8 * size) - 1, (1 << 8 * size - 1) - 1, 1 << 8 * size - 2, 0])
    place = rng.randrange(min(len(content), 4000))
    place = rng.choice([place, len(content) - 1 - place])
    content[place : place + size] = number.to_bytes(size, rng.choice(["little", "big"]))


def huge_varints(content: bytearray, rng: random.Random) -> None:
    """A number of protobuf that takes several bytes, in place of one that takes one, or put in between."""
    place = rng.randrange(min(len(content), 4000))
    content[place : place + rng.choice([0, 1])] = rng.choice(
        [b"\xff\xff\xff\xff\x0f", b"\xff" * 8 + b"\x7f", b"\x80\x80\x80\x80\x04", b"\xff" * 9 + b"\x01"]
    )


def huge_digits(content: bytearray, rng: random.Random) -> None:
    """Another number in a text: a header in JSON, a TOML, a pickle of protocol 0."""
    numbers = list(re.finditer(rb"\d+", bytes(content[:8000])))
    if numbers:
        number = rng.choice(numbers)
        other = rng.choice([b"0", b"-1", b"1e999", b"99999999999", b"9" * 30, b"4294967297", b"NaN"])
        content[number.start() : number.end()] = other


def other_words(content: bytearray, rng: random.Random) -> None:
    """A word of the text becomes another one of it, or one that means something."""
    words = list(re.finditer(rb"[A-Za-z_]{3,}", bytes(content[:8000])))
    if words:
        first, second = rng.choice(words), rng.choice(words)
        odd = [second[0], b"torch", b"posix\nsystem", b"\xff\xfe", b"F64", b"BOOL", b"null", b"../../x", b""]
        content[first.start() : first.end()] = rng.choice(odd)


def repeat_piece(content: bytearray, rng: random.Random) -> None:
    """A stretch comes many times."""
    start, size = rng.randrange(len(content)), rng.choice([1, 4, 64, 1000])
    content[start:start] = bytes(content[start : start + size]) * rng.choice([1, 2, 100])


MUTATIONS: tuple[Mutation, ...] = (
    flip_bits,
    flip_bits_of_head,
    cut_off,
    cut_out,
    insert_junk,
    overwrite,
    swap_pieces,
    huge_numbers,
    huge_varints,
    huge_digits,
    other_words,
    repeat_piece,
)


def damage(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Damaged bytes, and how it was done; what has checksums is often given right ones again."""
    inner = rng.random() < 0.6 and zipfile.is_zipfile(io.BytesIO(content))
    if inner:
        return damage_member(content, rng)
    damaged, names = bytearray(content), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        mutation = rng.choice(MUTATIONS)
        if damaged:
            mutation(damaged, rng)
        names.append(mutation.__name__)
    if content.endswith(TABLE_MAGIC) and len(damaged) == len(content) and rng.random() < 0.7:
        mend_table(damaged, content)
        names.append("mended")
    return bytes(damaged), " + ".join(names)


def damage_member(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A sound zip of damaged content."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(files))
    files[name], how = damage(files[name], rng)
    return zipped(files), f"{how} in {name}"


def mend_table(damaged: bytearray, whole: bytes) -> None:
    """Give the blocks of a table of TensorFlow's the checksums of what they hold now.

    Args:
        damaged: as long as `whole`, which says where the blocks are.
    """
    path = Path(f"/proc/self/fd/{os.memfd_create('table')}")
    path.write_bytes(whole)
    with path.open("rb") as file:
        places = [(handle.offset, handle.size) for handle in Table(file, path)._handles]
    for offset, size in places:
        end = offset + size + 1  # the byte that names the compression is summed too
        crc = crc32c(bytes(damaged[offset:end]))
        masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        struct.pack_into("<I", damaged, end, masked)


def damaged_sample(sample: Sample, rng: random.Random) -> tuple[Sample, str]:
    """The same with one of its files damaged, cut to nothing or, rarely, missing."""
    name = rng.choice(sample.damaged)
    content, how = damage(sample.files[name], rng)
    files = sample.files | {name: content}
    if len(files) > 1 and rng.random() < 0.05:
        del files[name]
        how = "missing"
    return replace(sample, files=files), how if len(sample.files) == 1 else f"{how} of {name}"
