"""What is published about the files of a release: checksums, where the files come from, and what the program is built from.

Sources: in-toto Attestation Framework, Statement v1; SLSA 1.0, Provenance v1; CycloneDX 1.6.
"""

import hashlib
import json
import os
import uuid

from forms.dependencies import Dependencies, checksums
from forms.table import ROOT

SUMS = "SHA256SUMS"
BUILD_TYPE = "urn:fatbin:scripts/release:v1"


def provenance(files, source, parameters, toolchain):
    """Returns the provenance of files: the commit, the packages of Cargo.lock and the compilers that they were built from."""
    materials = [{"uri": "git+file:.", "digest": {"gitCommit": source.commit}}]
    packages = checksums() | checksums(ROOT / "bindings/python") | checksums(ROOT / "bindings/c")
    materials += [{"uri": f"pkg:cargo/{name}@{version}", "digest": {"sha256": checksum}}
                  for (name, version), checksum in sorted(packages.items())]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest(data)}} for name, data in sorted(files.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": parameters,
                "internalParameters": {"uncommittedChanges": source.is_changed, "sourceDateEpoch": source.epoch, **toolchain},
                "resolvedDependencies": materials,
            },
            # Anyone can write this statement: it is not signed. The workflow adds a signed one.
            "runDetails": {"builder": {"id": builder()}},
        },
    }
    return as_text(statement)


def builder():
    """The identity of the workflow that runs, or of any machine."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        return f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_WORKFLOW_REF']}"
    return "urn:fatbin:builder:local"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def sums(files):
    return "".join(f"{digest(data)}  {name}\n" for name, data in sorted(files.items())).encode()


def as_text(value):
    return (json.dumps(value, indent=2) + "\n").encode()


def sbom():
    """The packages of Cargo.lock that a build with default features uses, on any platform, without those of tests. Without the time,
    so that equal sources have equal documents."""
    dependencies, hashes = Dependencies(), checksums()
    packages = dependencies.packages
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**component(packages[dependencies.root], hashes), "type": "application"}},
        "components": [component(packages[package], hashes) for package in dependencies.others],
        "dependencies": [
            {"ref": reference(packages[package]),
             "dependsOn": sorted(reference(packages[other]) for other in dependencies.of(package))}
            for package in [dependencies.root, *dependencies.others]],
    }
    text = json.dumps(document, sort_keys=True).encode()
    return as_text({**document, "serialNumber": f"urn:uuid:{uuid.UUID(bytes=hashlib.sha256(text).digest()[:16], version=5)}"})


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, hashes):
    result = {
        "type": "library", "name": package["name"], "version": package["version"],
        "bom-ref": reference(package), "purl": reference(package),
    }
    if package["license"]:
        # Cargo accepts `/` for OR.
        result["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["description"]:
        result["description"] = " ".join(package["description"].split())
    if checksum := hashes.get((package["name"], package["version"])):
        result["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        result["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return result
