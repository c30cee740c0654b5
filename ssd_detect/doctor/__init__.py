"""Whether detection works on this machine, proved by detecting; if not, why, and what to do next.

`probes` gathers a frozen `Facts`, in a child process wherever an import could fail, hang or kill; `judge` turns it into
checks and one sentence. Nothing here needs TensorFlow, NumPy or another package, save what runs in the child.
"""
