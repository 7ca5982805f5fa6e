"""An OCI image as an archive of an image layout, from the instructions of packaging/oci/Containerfile.

Source: OCI Image Format Specification 1.1 (image-layout.md, image-index.md, manifest.md, config.md, layer.md).
"""

import hashlib
import json
import shlex
from datetime import datetime, timezone

from forms.packing import File, compressed, tar
from forms.table import ROOT, Failure

CONTAINERFILE = ROOT / "packaging/oci/Containerfile"
TYPE = "application/vnd.oci.image"


def image(trees, version, epoch, level):
    """Returns an image for several architectures, from the files of an archive of each."""
    blobs, manifests = {}, []
    for architecture, tree in trees.items():
        manifest = add_manifest(blobs, tree, architecture, epoch, level)
        manifests.append({**manifest, "platform": {"architecture": architecture, "os": "linux"}})
    # Tools that copy an image by its name expect one entry with the name.
    named = {**add(blobs, "index", index(manifests)), "annotations": {"org.opencontainers.image.ref.name": version}}
    files = {f"blobs/sha256/{digest}": File(data) for digest, data in blobs.items()}
    files["oci-layout"] = File(as_json({"imageLayoutVersion": "1.0.0"}))
    files["index.json"] = File(as_json(index([named])))
    return tar(files, epoch)


def index(manifests):
    return {"schemaVersion": 2, "mediaType": f"{TYPE}.index.v1+json", "manifests": manifests}


def add_manifest(blobs, tree, architecture, epoch, level):
    """Adds the layer, the configuration and the manifest for an architecture."""
    files, directories, config = follow(CONTAINERFILE.read_text(), tree)
    plain = tar(files, epoch, directories)
    created = datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    configuration = {"created": created, "architecture": architecture, "os": "linux", "config": config,
                     "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(plain).hexdigest()}"]},
                     "history": [{"created": created, "created_by": "scripts/release oci"}]}
    return add(blobs, "manifest", {
        "schemaVersion": 2, "mediaType": f"{TYPE}.manifest.v1+json", "config": add(blobs, "config", configuration),
        "layers": [add_bytes(blobs, f"{TYPE}.layer.v1.tar+gzip", compressed(plain, level))],
        "annotations": config["Labels"]})


def follow(text, tree):
    """Follows the instructions of a Containerfile, and returns the files, the directories and the configuration of the image."""
    files, directories, config = {}, set(), {"Env": ["PATH=/usr/bin"], "Labels": {}}
    for line in text.splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "LABEL":
            name, _, value = " ".join(shlex.split(rest)).partition("=")
            config["Labels"][name] = value
        elif instruction == "COPY":
            *sources, target = rest.split()
            for source in sources:
                path = target + source if target.endswith("/") else target
                files[path.lstrip("/")] = tree[source]
        elif instruction == "WORKDIR":
            directories.add(rest.lstrip("/"))
            config["WorkingDir"] = rest
        elif instruction in ("ENTRYPOINT", "CMD"):
            config[instruction.capitalize()] = json.loads(rest)
        elif line and not line.startswith("#") and line != "FROM scratch":
            raise Failure(f"{CONTAINERFILE}: unsupported instruction: {line}")
    return files, directories, config


def add(blobs, kind, value):
    return add_bytes(blobs, f"{TYPE}.{kind}.v1+json", as_json(value))


def add_bytes(blobs, media_type, data):
    """Adds a blob and returns its descriptor."""
    digest = hashlib.sha256(data).hexdigest()
    blobs[digest] = data
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def as_json(value):
    return json.dumps(value, separators=(",", ":")).encode()
