//! Archives of bundles, unbundled by the drop-in: equal archives and messages. [`crate::bundle_archives`] covers the contents
//! of archives in every dialect.

use anyhow::{Context, Result, ensure};

use super::{same, spelled};
use crate::dropin::{Call, DirectoryEntry, Pair, Side};
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Members that the tool makes, with its arguments except the output.
const MEMBERS: [(&str, &str); 4] = [
    ("plain.bc", "-type=bc -targets=HOST,DEVICE -input=../text -input=../large"),
    ("aligned.o", "-type=o -targets=DEVICE,HOST -input=../bytes -input=../empty -bundle-align=4096"),
    ("object.o", "-type=o -targets=HOST,DEVICE:xnack+ -input=../host.o -input=../binary"),
    ("compressed.o", "-type=bc -targets=HOST,DEVICE:sramecc+ -input=../text -input=../large -compress"),
];

const ALIKE: [&str; 15] = [
    "-targets=DEVICE -input=../all.a -output=x",
    "-targets=DEVICE:sramecc+:xnack+ -input=../all.a -output=x",
    "-targets=DEVICE:sramecc+:xnack+ -input=../all.a -output=x -check-input-archive",
    "-targets=DEVICE,DEVICE:sramecc+ -input=../all.a -output=x -output=y",
    "-targets=DEVICE,DEVICE -input=../all.a -output=x -output=y",
    "-targets=openmp-amdgcn-amd-amdhsa--gfx906 -input=../all.a -output=x -hip-openmp-compatible",
    "-targets=hip-amdgcn-amd-amdhsa--gfx1030,DEVICE,hip-amdgcn-amd-amdhsa--gfx1012 -input=../all.a -output=x -output=y -output=z",
    "-targets=hip-amdgcn-amd-amdhsa--gfx1030,DEVICE -input=../all.a -output=x -output=y -allow-missing-bundles",
    "-targets=openmp-amdgcn-amdhsa-gfx906:sramecc+:xnack+,openmp-amdgcn-amdhsa-gfx908:sramecc-:xnack+ -input=../all.a -output=x -output=y -allow-missing-bundles",
    "-targets=DEVICE:xnack+ -input=../all.a -output=x -verbose",
    "-targets=DEVICE:xnack+ -input=../conflict.a -output=x",
    "-targets=DEVICE:xnack+ -input=../conflict.a -output=x -check-input-archive",
    "-targets=DEVICE -input=../text -output=x",
    "-targets=DEVICE -input=../empty -output=x -allow-missing-bundles",
    "-targets=DEVICE -input=../missing.a -output=x",
];

pub fn are_unbundled_like_the_tool(pair: &Pair) -> Result<()> {
    for (name, line) in MEMBERS {
        let line = format!("{} -output=x", spelled(line));
        let result = pair.call(Side::Theirs, &Call::line(&line))?;
        let Some(DirectoryEntry::File { bytes, .. }) = result.left.get("x") else {
            anyhow::bail!("{line}: {}", result.err)
        };
        std::fs::write(pair.directory.join(name), bytes)?;
    }
    // The tool does not make such a bundle.
    let ids = ["DEVICE", "DEVICE:xnack+"].map(spelled);
    let entries: Vec<(&str, &[u8])> = ids.iter().map(|id| (id.as_str(), id.as_bytes())).collect();
    let conflicting = fatbin_core::format::bundle::write(&entries, 1).context("a bundle of a few bytes")?;
    std::fs::write(pair.directory.join("conflict.o"), conflicting.to_vec())?;
    let names = MEMBERS.map(|(name, _)| name);
    let ar = || Ok::<_, anyhow::Error>(Step::new(&pair.directory, Tool::Ar.path()?).arg("rcD"));
    ar()?.args(["all.a", "host.o", "text", "empty"]).args(names).run()?;
    ar()?.args(["conflict.a", "plain.bc", "conflict.o"]).run()?;
    let mut written = 0;
    for line in ALIKE {
        let (theirs, _) = same::calls(pair, &Call::line(&spelled(&format!("-type=a -unbundle {line}"))))?;
        written += theirs.left.len();
    }
    ensure!(written > ALIKE.len() / 2, "only {written} archives were written");
    // Other files are listed by their own format; only the drop-in lists archives.
    same::calls(pair, &Call::line("-type=a -list -input=../plain.bc"))?;
    let (theirs, ours) = pair.both(&Call::line("-type=a -list -input=../all.a"))?;
    let listed = ["HOST", "DEVICE", "DEVICE:xnack+", "DEVICE:sramecc+"].map(|id| format!("{}\n", spelled(id)));
    ensure!(theirs.out.is_empty() && ours.out == listed.concat(), "{}", ours.out);
    Ok(())
}
