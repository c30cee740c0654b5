"""`python -m ssd_detect` is the same as `ssd-detect`."""

from ssd_detect.cli.main import main

if __name__ == "__main__":
    main()
