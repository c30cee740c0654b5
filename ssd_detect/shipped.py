"""Pictures that come with the package."""

from pathlib import Path

_PACKAGE = Path(__file__).parent

PORTRAIT = _PACKAGE / "doctor" / "astronaut.jpg"
"""A smaller copy of NASA's portrait of Eileen Collins, which is in the public domain."""

CAT = _PACKAGE / "engines" / "pictures" / "chelsea.jpg"
"""By Stéfan van der Walt, CC0; smaller here."""

COFFEE = _PACKAGE / "engines" / "pictures" / "coffee.jpg"
"""A cup of coffee, by Rachel Michetti for Pikolo Espresso Bar, CC0; smaller here. All three came with scikit-image."""
