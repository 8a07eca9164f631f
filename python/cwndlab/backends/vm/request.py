"""Pack the input of a run in a virtual machine: the request, and the algorithms in BPF."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import TYPE_CHECKING, Any

from cwndlab.kernel.objects import kernel_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cwndlab.kernel.objects import KernelProgram

_FOLDER = "/run/asked"
CALLS = "calls"
"""Name of the file in `/out` that contains the recorded calls of an algorithm's hooks."""


def packed_request(request: Mapping[str, Any], programs: Iterable[KernelProgram] = ()) -> bytes:
    """Return a compressed archive that `init.sh` unpacks into `/run/asked`.

    The archive contains the compiled algorithms and these files:

    - `request`: the request to `cwndlab-testbed`.
    - `loads`: the requests to `cwndlab-kernel` before the run. They load each algorithm and, if its
      calls are recorded, start the recording.
    - `ends`: the request that stops the recording after the run; absent if no calls are recorded.

    Raises:
        BrokenAlgorithmError: an algorithm does not compile; the message names the erroneous lines.
    """
    files = {"request": json.dumps(request).encode() + b"\n", "loads": b""}
    for program in programs:
        name = f"{program.name}.bpf.o"
        files[name] = kernel_object(program.program).read_bytes()
        load = {
            "do": "load",
            "object": f"{_FOLDER}/{name}",
            "name": program.name,
            "parameters": dict(program.parameters),
            "seed": program.seed,
            "pin": None,
        }
        files["loads"] += _line(load)
        if program.is_recording:
            record = {"do": "record", "name": program.name, "file": f"/out/{CALLS}"}
            files["loads"] += _line(record)
            files["ends"] = _line({"do": "stop_recording", "name": program.name})
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(archive.getvalue(), 1, mtime=0)


def _line(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request).encode() + b"\n"
