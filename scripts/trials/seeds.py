"""Valid inputs of every format: written by fatbin from the fixtures, or, where it writes no such format, by layout.py."""

import base64
import bz2
import gzip
import hashlib
import lzma
import subprocess
import zipfile

from trials import layout

HSACO, CUBIN, PTX, LTO_IR = "answer-gfx90a.hsaco", "answer-sm_90.cubin", "answer-sm_80.ptx", "answer-sm_90.ltoir"
IMAGES = [HSACO, "answer-gfx90a-debug.hsaco", CUBIN, "answer-sm_90-debug.cubin", "answer-sm_75-32.cubin", PTX, LTO_IR,
          "answer.tilebc", "answer-dg2.zebin", "answer-gen9.gen", "answer.metallib", "answer.oxart", "answer.kdb", "answer.aks2"]
# Inputs of fuzz targets, for formats that fatbin does not write.
CORPUS = ["dxbc/dxil", "hcf/two", "kpack/zstd", "metal_archive/answer.metallib", "ocloc_archive/members", "syclbin/two"]
TARGET = f"--target={layout.GFX90A.decode()}="
HOST = f"--target={layout.HOST.decode()}="

# A thin archive without its member, a bundle of source files, and containers of images that are cut.
WITHOUT_IMAGES = {"thin.a", "bundle-text", "answer.oxart"}


class Workshop:
    """Makes seeds in a directory."""

    def __init__(self, program, fixtures, directory):
        self.program, self.fixtures, self.directory = program, fixtures, directory
        self.seeds = {}

    def read(self, fixture):
        return (self.fixtures / fixture).read_bytes()

    def add(self, name, data):
        self.seeds[name] = data
        return data

    def write(self, name, *command):
        """Adds the file that a command of fatbin writes."""
        path = self.directory / name
        self.run(command[0], "-o", path, *command[1:])
        return self.add(name, path.read_bytes())

    def run(self, *words):
        done = subprocess.run([self.program, *words], cwd=self.fixtures, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def verify(self):
        """Checks that every seed is intact: a mutant of a damaged one shows little."""
        paths = []
        for name in self.seeds.keys() - WITHOUT_IMAGES:
            paths.append(self.directory / name)
            paths[-1].write_bytes(self.seeds[name])
        for line in self.run("verify", *paths).decode().splitlines():
            if "no device images" in line:
                raise RuntimeError(line)


def make(program, fixtures, directory):
    """Returns the seeds by name, and writes a policy for them to the directory."""
    shop = Workshop(program, fixtures, directory)
    images(shop)
    bundled = containers(shop)
    hosts(shop, bundled)
    archives(shop, bundled)
    (directory / "policy").write_bytes(shop.run("check", "--init", HSACO, CUBIN) + b"\n[package]\npromised-kernels = true\n")
    shop.verify()
    return shop.seeds


def images(shop):
    for name in IMAGES:
        shop.add(name, shop.read(name))
    source = layout.aligned(b"kernel.cl\0", 4)
    shop.add("module.spv", layout.spirv([
        (17, layout.pack("I", 6)), (14, layout.pack("II", 2, 2)),
        (15, layout.pack("II", 6, 1) + b"kernel\0\0"), (7, layout.pack("I", 9) + source),
        (5, layout.pack("I", 1) + b"kernel\0\0"), (8, layout.pack("III", 9, 7, 1))]))
    lto_ir = shop.read(LTO_IR)
    shop.add("code.optixir", lto_ir[:14] + b"\2" + lto_ir[15:])


def containers(shop):
    """Adds containers in every version and with every codec, and returns a bundle."""
    image = f"--image=file={HSACO},kind=hip"
    for option in ["format-version=1", "format-version=2", "format-version=3", "compress=zstd", "compress=zlib"]:
        shop.write(f"offload-binary-{option}", "pack", f"--{option}", image)
    both = [f"{HOST}/dev/null", f"{TARGET}{HSACO}"]
    bundled = shop.write("bundle", "bundle", "--type=bc", *both)
    shop.write("bundle-text", "bundle", "--type=ii", f"{HOST}answer.c", f"{TARGET}runtime.c")
    for codec in ["zstd", "zlib"]:
        for version in [2, 3]:
            shop.write(f"ccob-{version}-{codec}", "bundle", "--type=bc", f"--compress={codec}",
                       f"--format-version={version}", *both)
        shop.add(f"ccob-1-{codec}", layout.ccob(bundled, 1, codec))
    for name, options in [("", []), ("-lz4", ["--compress=lz4"]), ("-zstd", ["--compress=zstd"])]:
        shop.write(f"cuda-fatbin{name}", "pack", "--kind=cuda", *options, CUBIN, PTX)
    cubin = shop.read(CUBIN)
    shop.add("cuda-fatbin-group", layout.fatbin([layout.fatbin_group(cubin, [(0, len(cubin))] * 2)]))
    return bundled


def hosts(shop, bundled):
    for kind, image in [("openmp", HSACO), ("cuda", CUBIN), ("hip", HSACO), ("sycl", CUBIN)]:
        shop.write(f"wrapped-{kind}.o", "wrap", f"--kind={kind}", image)
    for host in ["aarch64", "s390x"]:
        shop.write(f"wrapped-{host}.o", "wrap", f"--host={host}-linux-gnu", "--kind=hip", HSACO)
    shop.write("wrapped.bc", "wrap", "--kind=openmp", "--emit=bitcode", HSACO)
    shop.write("bundle.o", "bundle", "--type=o", f"{HOST}answer-x86_64.so", f"{TARGET}{HSACO}")
    for host in ["x86_64-linux-gnu", "x86_64-windows-msvc"]:
        shop.write(f"embedded-{host}.o", "embed", f"--host={host}", "--index=all", f"--symbol=k={CUBIN}",
                   f"--symbol=p={PTX}")
    arrays = b"text\0".join(shop.read(name) for name in [CUBIN, HSACO, PTX]) + b"\0"
    shop.add("arrays.o", layout.elf(layout.X86_64, [layout.Section(b".rodata", arrays, 1, 2)]))
    section = layout.Section(b"__CLANG_OFFLOAD_BUNDLE__sycl-spir64", shop.seeds["module.spv"], 1, 2)
    shop.add("sycl-image.o", layout.elf(layout.X86_64, [section]))
    macho = shop.write("mach-o.o", "wrap", "--host=x86_64-apple-macosx", "--kind=hip", HSACO)
    shop.add("universal", layout.universal(macho))
    shop.add("pe.exe", layout.pe(bundled))


def record(members):
    """The record of a wheel with these members."""
    rows = ""
    for name, data in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        rows += f"{name},sha256={digest},{len(data)}\n"
    return (rows + "m-1.dist-info/RECORD,,\n").encode()


def archives(shop, bundled):
    member = [("member.o", bundled)]
    shop.add("archive.a", layout.ar([(b"member.o", bundled)]))
    shop.add("thin.a", layout.ar([], b"!<thin>\n") + layout.ar_member(b"member.o/", len(bundled)))
    shop.add("stored.zip", layout.zip_file(member))
    shop.add("deflated.zip", layout.zip_file(member, zipfile.ZIP_DEFLATED))
    packed = shop.add("archive.tar", layout.tar_file(member))
    shop.add("archive.tar.gz", gzip.compress(packed, mtime=0))
    shop.add("archive.tar.zst", layout.zstd_frame(packed))
    shop.add("archive.tar.xz", lzma.compress(packed))
    shop.add("archive.tar.lzma", lzma.compress(packed, lzma.FORMAT_ALONE))
    shop.add("archive.tar.bz2", bz2.compress(packed))
    stored = shop.add("archive.cpio", layout.cpio_file(member))
    shop.add("package.rpm", layout.rpm_file(lzma.compress(stored)))
    shop.add("archive-in-zip.zip", layout.zip_file([("archive.tar", packed)], zipfile.ZIP_DEFLATED))
    shop.add("lzma.zip", layout.zip_file(member, zipfile.ZIP_LZMA))
    shop.add("m-1-py3-none-any.whl", layout.zip_file([*member, ("m-1.dist-info/RECORD", record(member))]))
    shop.add("package.deb", layout.ar([(b"debian-binary", b"2.0\n"), (b"data.tar.xz", lzma.compress(packed))]))
    corpus = shop.fixtures.parent / "fuzz/corpus"
    for path in [*(corpus / name for name in CORPUS), *sorted((corpus / "archive").iterdir())]:
        name = f"{path.parent.name}-{path.name}"
        WITHOUT_IMAGES.add(name)
        shop.add(name, path.read_bytes())
    # Indexes next to code objects are recognized by their names.
    for path in sorted((corpus / "promise").iterdir()):
        name, data = path.read_bytes().split(b"\0", 1)
        WITHOUT_IMAGES.add(name := name.decode().rpartition("/")[2])
        shop.add(name, data)
