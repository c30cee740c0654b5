"""Numbers of things in words."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 tensor`, `2 tensors`; `many` where that is not `one` and an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
