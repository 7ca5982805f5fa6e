//! Real wheels pruned to one device: pip installs them, and their modules import as before.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{fatbin, trial};
use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path};
use crate::real_files::path_of;

/// A wheel, and what is imported from it.
struct Wheel {
    name: &'static str,
    import: &'static str,
}

const DEVICE: &str = "sm_86";

/// Nothing in the second imports without a GPU's driver; its library is loaded by itself.
const WHEELS: [Wheel; 3] = [
    Wheel { name: "bitsandbytes", import: "import bitsandbytes" },
    Wheel {
        name: "nvjpeg",
        import: "import ctypes, sys; ctypes.CDLL(sys.path[-1] + '/nvidia/nvjpeg/lib/libnvjpeg.so.12'); print('loaded')",
    },
    Wheel { name: "qiskit-aer", import: "import qiskit_aer" },
];

pub fn trials() -> Vec<Trial> {
    let wheels =
        WHEELS.iter().map(|wheel| trial(format!("wheels/{}", wheel.name), move |directory| installs(directory, wheel)));
    wheels.collect()
}

/// Installs a module into the directory of its second argument, and prints how importing it ends: packages that it needs and
/// that are not installed are named.
const INSTALL_AND_IMPORT: &str = r#"
import csv, base64, hashlib, pathlib, subprocess, sys
wheel, target, code = sys.argv[1:]
tags = ["--platform=manylinux_2_28_x86_64", "--platform=manylinux_2_24_x86_64", "--platform=manylinux2014_x86_64"]
tags += ["--python-version=3.12", "--only-binary=:all:"]  # Those of the wheels, whichever Python runs this.
pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
subprocess.run([*pip, *tags, "--target", target, wheel], check=True)
for record in pathlib.Path(target).glob("*.dist-info/RECORD"):
    for name, digest, size in csv.reader(record.open()):
        path = pathlib.Path(target, name)
        if digest and path.suffix != ".pyc":
            data = path.read_bytes()
            found = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (found, str(len(data))) == (digest, size), name
sys.path.append(target)
try:
    exec(code)
except BaseException as error:
    print(type(error).__name__, str(error).replace(target, ""))
"#;

fn installs(directory: &Path, wheel: &Wheel) -> Result<()> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let path = path_of(wheel.name)?;
    // pip reads tags from the name.
    let name = path.file_name().context("a wheel has a name")?;
    let pruned = directory.join(name);
    let done = fatbin(directory).args(["prune", "--device", DEVICE]).arg(&path).arg("-o").arg(&pruned).run()?;
    fatbin(directory).arg("verify").arg(&pruned).run()?;
    let outcome = |file: &Path, target: &str| -> Result<String> {
        let step = Step::new(directory, &python).args(["-c", INSTALL_AND_IMPORT]).arg(file);
        Ok(step.arg(directory.join(target)).arg(wheel.import).run()?.stdout)
    };
    let (before, after) = (outcome(&path, "before")?, outcome(&pruned, "after")?);
    ensure!(before == after, "{}", done.error(format!("import before: {before}\nimport after: {after}")));
    println!("edit/wheels/{}: import before and after: {}", wheel.name, after.trim());
    let [old, new] = [path.metadata()?.len(), pruned.metadata()?.len()];
    ensure!(new < old, "{}", done.error(format!("{old} -> {new} bytes")));
    Ok(())
}
