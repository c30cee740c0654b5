"""Runs ssd-detect, or a line of Python, in a process that ends at once when anything in it asks for the network.

    python -m tests.no_network RECORD ssd-detect image picture.png
    python -m tests.no_network RECORD -c CODE

The kernel kills the process (SIGSYS) when any code in it, native code too, asks for an IPv4 socket; processes that it
starts inherit that. It has no IPv6, as many machines have not, and asking for that is no crime: urllib3, which
TensorFlow brings along, does so when it is imported, to find out. What Python code wants of the network is written to
RECORD as well, so that a test can tell who it was. Linux on x86-64 and ARM64 only.
"""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys
from pathlib import Path
from typing import Any

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38  # linux/prctl.h
_SECCOMP_MODE_FILTER = 2  # linux/seccomp.h, and the three actions
_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # linux/filter.h: BPF_LD|W|ABS, JMP|JEQ|K, JMP|JGE|K, RET|K
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; little-endian
_IO_URING_SETUP = 425  # sockets could be made past the filter there; containers refuse it likewise
_X32 = 0x40000000  # numbers of x86-64's second ABI begin there
# Machine -> AUDIT_ARCH_* of linux/audit.h, and the number of socket(2).
_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}


def forbid_network() -> None:
    """Let the kernel kill this process when it, or one that it starts, asks for an IPv4 socket, and refuse IPv6."""
    architecture, socket_number = _MACHINES[platform.machine()]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, 8, architecture),  # else: kill
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 6, 0, _X32),
        (_EQUAL, 6, 0, _IO_URING_SETUP),
        (_EQUAL, 0, 3, socket_number),  # else: allow
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 2, 0, socket.AF_INET),
        (_EQUAL, 3, 0, socket.AF_INET6),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    described = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    library = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described, 0, 0)):
        if library.prctl(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def record_to(path: Path) -> None:
    """Write down what Python code asks of the network, before it is done."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        is_no_wish = event == "socket.gethostname" or (event == "socket.__new__" and arguments[1] != socket.AF_INET)
        if event.startswith("socket.") and not is_no_wish:
            os.write(file, f"{event} {arguments[1:]}\n".encode())

    sys.addaudithook(hear)


if __name__ == "__main__":
    record_to(Path(sys.argv[1]))
    forbid_network()
    if sys.argv[2] == "-c":
        exec(sys.argv[3])
    else:
        from ssd_detect.cli.main import program

        program(sys.argv[3:], prog_name=sys.argv[2])
