"""Damage to files, as transfers, disks and people do it."""

import random


def mutated(content: bytes, draw: random.Random, head: int = 3000) -> bytes:
    """One to four changes, most of them near the beginning or the end, where formats keep their own numbers."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        edge = min(head, len(changed))
        at = draw.choice([draw.randrange(edge), len(changed) - draw.randint(1, edge), draw.randrange(len(changed))])
        size = draw.choice([1, 2, 4, 8])
        match draw.randrange(5):
            case 0:
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                changed[at : at + size] = bytes(size)
            case 2:
                changed[at : at + size] = b"\xff" * size
            case 3:
                del changed[at : at + draw.choice([1, 7, 1000])]
            case _:
                changed[at:at] = draw.randbytes(draw.choice([1, 7, 100]))
        if not changed:
            return b""
    return bytes(changed)
