"""The numbers that the project promises, measured on this machine; `scripts/bench/run --help` tells how."""
