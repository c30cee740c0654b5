"""Inside a picture file: kinds, decoders, colour, depth, EXIF."""
