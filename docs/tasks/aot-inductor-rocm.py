# pytorch/pytorch#166357: code objects for several GPUs as the bundle that hipModuleLoad takes, without clang-offload-bundler.
# Usage: aot-inductor-rocm.py OUTPUT CODE_OBJECT...
import sys
from pathlib import Path

import fatbin

output, *paths = sys.argv[1:]
entries: dict[str, bytes | str] = {"host-x86_64-unknown-linux-gnu-": b""}
for path in paths:
    [image] = fatbin.scan(path)[0].images
    entries[f"hipv4-{image.triple}--{image.arch}"] = path
Path(output).write_bytes(fatbin.bundle(entries, type="o", alignment=4096))
