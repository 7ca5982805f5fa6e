//! Which releases refuse a bundle for the ID of an entry that nobody asked for.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fatbin_core::format::bundle;
use fatbin_core::format::readers::Reader;

use crate::harness::command::command;
use crate::harness::tools::{Tool, llvm_tool};

/// IDs of entries, of any number of components.
const IDS: [&str; 20] = [
    "host-x86_64-unknown-linux",
    "hip-amdgcn-amd-amdhsa--gfx906",
    "hip-amdgcn-amd-amdhsa--gfx906:xnack-",
    "hipv4-amdgcn-amd-amdhsa--gfx906:sramecc-:xnack+",
    "hip-amdgcn-amd-amdhsa-gfx906",
    "hip-amdgcn-amd-amdhsa-unknown-gfx906:xnack-",
    "hip-amdgcn-amd-amdhsa",
    "hip-amdgcn-amd-amdhsa:xnack-",
    "hip-amdgcn-amd-amdhsa--gfx950-",
    "openmp-nvptx64-nvidia-cuda--sm_70",
    "gfx906",
    "gfx906:xnack-",
    "gfx906:sramecc-:xnack-",
    "a:b-c-d-e-",
    "hip-amdgcn-amd--",
    "hip-amdgcn-amd-",
    "----",
    "---",
    "foo-amdgcn-amd-amdhsa--gfx906",
    "hip-amdgcn-amd-amdhsa--gfx9-4-generic:xnack-",
];

/// `readable-by` names exactly the releases that refuse, whichever the other entry is.
pub fn are_refused_by_these_releases(directory: &Path) -> Result<()> {
    let host = "host-x86_64-unknown-linux-gnu";
    let mut refused = 0;
    for release in ["16", "19", "22"] {
        let tool = match release {
            "22" => Tool::OffloadBundler.path()?,
            _ => llvm_tool("clang-offload-bundler", release, &format!("clang-tools-{release}"))?,
        };
        let reader = Reader::parse(&format!("llvm-{release}")).context(release)?;
        for id in IDS {
            let entries = [(host, &b"host"[..]), (id, b"code")];
            let contents = bundle::write(&entries, 1).context("a bundle of a few bytes")?;
            std::fs::write(directory.join("bundle"), contents.to_vec())?;
            // 19.1.7 compares the ID of the host with another spelling.
            let options = ["-unbundle", "-type=bc", "-input=bundle", "-output=out", "-allow-missing-bundles"];
            let done = command(&tool).current_dir(directory).args(options).arg(format!("-targets={host}")).output()?;
            let error = String::from_utf8_lossy(&done.stderr);
            ensure!(done.status.success() || error.contains("invalid bundle id read from the bundle"), "{id}: {error}");
            ensure!(reader.reads_bundle_with(id) == done.status.success(), "{release}: {id}: {error}");
            refused += usize::from(!done.status.success());
        }
    }
    ensure!(refused == 7, "{refused} refusals");
    Ok(())
}
