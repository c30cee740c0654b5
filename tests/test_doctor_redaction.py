"""What a report must not tell: home, user, host and GPU identifiers, also of people with odd names."""

import pytest

from ssd_detect.doctor.redaction import Redactor

ANN = Redactor(homes=("/home/ann", "/mnt/data/homes/ann"), users=("ann",), hosts=("lab-7", "lab-7.example.org"))
WINDOWS = Redactor(homes=(r"C:\Users\Jörg Müller",), users=("Jörg Müller",), hosts=("JÖRGS-PC",))
UUID = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"

CASES = [
    (Redactor(), "", ""),
    (Redactor(("", "/"), ("",), ("",)), "/usr/lib and /", "/usr/lib and /"),
    (ANN, "/home/ann/env/bin/python", "~/env/bin/python"),
    (ANN, "/home/ann", "~"),
    (ANN, "/home/anna/x /home/ann.old/y", "/home/<user>/x /home/<user>/y"),
    (ANN, "/mnt/data/homes/ann/x", "~/x"),
    (ANN, "/scratch/ann/x of ann@lab-7", "/scratch/<user>/x of <user>@<host>"),
    (ANN, "lab-7.example.org said", "<host> said"),
    (ANN, "annotate, banner, Joann", "annotate, banner, Joann"),
    (ANN, "ANN on LAB-7", "<user> on <host>"),
    (ANN, "/home/bob/x, '/Users/carol/y' and /var/home/dan", "/home/<user>/x, '/Users/<user>/y' and /var/home/<user>"),
    (ANN, f"GPU 0 is {UUID}.", "GPU 0 is <uuid>."),
    (ANN, "CUDA_VISIBLE_DEVICES=GPU-8932f937,MIG-8932f937-d72c", "CUDA_VISIBLE_DEVICES=<uuid>,<uuid>"),
    (ANN, f"MIG-{UUID}/1/0", "<uuid>"),
    (ANN, "GPU-0 and GPU-accelerated", "GPU-0 and GPU-accelerated"),
    (WINDOWS, r"C:\Users\Jörg Müller\env\python.exe", r"~\env\python.exe"),
    (WINDOWS, r"'c:\\users\\jörg müller\\env'", r"'~\\env'"),
    (WINDOWS, "C:/Users/Jörg Müller/env", "~/env"),
    (WINDOWS, r"C:\Users\JRGML~1\AppData on JÖRGS-PC", r"C:\Users\<user>\AppData on <host>"),
    (Redactor(("/root",), ("root",), ()), "/root/x, /rooted/x, root", "~/x, /rooted/x, root"),
    (Redactor(("/home/a",), ("a",), ("b",)), "a build in /srv/a/b of a@b", "a build in /srv/<user>/<host> of a@<host>"),
    (Redactor((), ("vm",), ("pc",)), "vm on pc, /x/vm/y on vm@pc", "vm on pc, /x/<user>/y on vm@pc"),
    (Redactor(("/home/a+b (c)",), ("a+b (c)",), ()), "/home/a+b (c)/x, a+b (c)", "~/x, <user>"),
    (Redactor((), ("host",), ("user",)), "host on user, /x/host/user", "host on user, /x/<user>/<host>"),
    (Redactor((), ("userx",), ("hostx",)), "userx on hostx", "<user> on <host>"),
    (Redactor((), ("debian",), ("Ubuntu",)), "Debian, ubuntu 24.04, /a/debian", "Debian, ubuntu 24.04, /a/<user>"),
    (Redactor((), ("pip",), ()), "-m pip install pip, /usr/lib/pipx", "-m pip install pip, /usr/lib/pipx"),
    (Redactor((), ("python",), ()), "/usr/lib/python3.11/python is python", "/usr/lib/python3.11/<user> is python"),
    (
        Redactor((), ("admin", "nvidia", "tensorflow", "conda", "linux", "root"), ()),
        "admin nvidia TensorFlow conda Linux root",
        "admin nvidia TensorFlow conda Linux root",
    ),
    (
        ANN,
        "/scratch/ann_work/x, /scratch/ann2/y, /data/annex",
        "/scratch/<user>_work/x, /scratch/<user>2/y, /data/annex",
    ),
    (ANN, "my_ann_x", "my_ann_x"),
    (ANN, "/home/bob de la cruz/x and /home/carol", "/home/<user>/x and /home/<user>"),
    (
        Redactor(("/home/ann lee",), ("ann lee",), ()),
        "/home/ann lee/x, /home/ann\\ lee/y, /home/ann%20lee/z",
        "~/x, ~/y, ~/z",
    ),
    (Redactor((), ("uuid",), ()), f"{UUID} of uuid", "<uuid> of <user>"),
]


@pytest.mark.parametrize(("redactor", "text", "expected"), CASES)
def test_a_text(redactor: Redactor, text: str, expected: str) -> None:
    assert redactor.text(text) == expected


def test_a_value_is_redacted_throughout() -> None:
    value = {"ann": ["/home/ann/x", {"log": f"ann\n{UUID}"}], "free": 7, "gone": None, "pair": ("lab-7", True)}
    redacted = {"ann": ["~/x", {"log": "<user>\n<uuid>"}], "free": 7, "gone": None, "pair": ["<host>", True]}
    assert ANN.value(value) == redacted
