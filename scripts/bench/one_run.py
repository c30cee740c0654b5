"""Runs a command and tells on standard output its seconds, the peak of its memory, and its exit status.

In a process of its own, a small one: Linux begins a process's peak with that of the one that started it.
"""

import os
import sys
import time


def main() -> None:
    """Standard output of the command itself goes nowhere."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    process = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    print(seconds, usage.ru_maxrss, os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
