"""Reads package metadata with the programs that loaders and installers use, and prints what they make of it as JSON.

    readers.py variant FILE   label, properties, the label that variantlib derives from them, and its own text of the file
    readers.py kernels FILE   backend, architectures, and the capabilities that the loader accepts
    readers.py conda FILE     dependencies, and the capabilities that meet all constraints
"""

import importlib
import json
import sys
import types
from pathlib import Path

CAPABILITIES = [(major, minor) for major in range(5, 13) for minor in range(10)]


def variant(path):
    from rocm_bootstrap.variant_provider import AMDVariantPlugin
    from variantlib.models.variant import VariantDescription
    from variantlib.variant_dist_info import VariantDistInfo

    info = VariantDistInfo(Path(path).read_text())
    properties = info.variant_desc.properties
    known = {(it.name, value) for it in AMDVariantPlugin().get_all_configs() for value in it.values}
    unknown = [it.to_str() for it in properties if it.namespace == "amd" and (it.feature, it.value) not in known]
    return {
        "label": info.variant_label,
        "properties": sorted(it.to_str() for it in properties),
        "derived_label": VariantDescription(properties).hexdigest,
        "unknown": unknown,
        "text": info.to_str(),
    }


def kernels(path):
    # The package itself imports much that is not needed here.
    package = types.ModuleType("kernels")
    package.__path__ = [str(Path(entry) / "kernels") for entry in sys.path if (Path(entry) / "kernels").is_dir()]
    sys.modules["kernels"] = package
    loader = importlib.import_module("kernels.archs")
    backend = importlib.import_module("kernels._rust").Metadata.read_from_file(Path(path)).backend
    name = str(backend.backend_type).lower()
    is_limited = name == "cuda" and backend.archs is not None
    return {
        "type": name,
        "archs": backend.archs,
        "accepted": accepted(lambda it: loader._supports_cuda_capability(backend.archs, it)) if is_limited else None,
    }


def conda(path):
    from rattler import BuildString, IndexJson, MatchSpec, PackageRecord

    index = IndexJson.from_str(Path(path).read_text())
    constraints = [MatchSpec(text) for text in index.constrains]

    def meets_all(capability):
        version = ".".join(map(str, capability))
        device = PackageRecord("__cuda_arch", version, BuildString("0"), 0, "linux-64")
        return all(constraint.matches(device) for constraint in constraints)

    return {"depends": index.depends, "accepted": accepted(meets_all)}


def accepted(accepts):
    """Names of the devices with these capabilities."""
    return [f"sm_{major}{minor}" for major, minor in CAPABILITIES if accepts((major, minor))]


command, path = sys.argv[1:]
print(json.dumps({"variant": variant, "kernels": kernels, "conda": conda}[command](path)))
