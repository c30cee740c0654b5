"""Boxes and labels: lines, colours, letters in any script."""
