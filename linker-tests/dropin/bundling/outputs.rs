//! Outputs that exist: mode and hard links, which survive where the tool truncates the file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{same, spelled};
use crate::dropin::{Call, DirectoryEntry, Pair, Side};
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Calls, and whether the tool keeps the file.
const CALLS: [(&str, bool); 8] = [
    ("-type=bc -targets=HOST,DEVICE -input=../text -input=../bytes -output=x", true),
    ("-type=ii -targets=HOST,DEVICE -input=../text -input=../text -output=x", true),
    ("-type=bc -targets=HOST,DEVICE -input=../text -input=../bytes -output=x -compress", true),
    ("-type=o -targets=HOST,DEVICE -input=../host.o -input=../bytes -output=x", false),
    ("-type=bc -unbundle -targets=DEVICE -input=../plain -output=x", true),
    ("-type=bc -unbundle -targets=HOST -input=../text -output=x -allow-missing-bundles", true),
    ("-type=o -unbundle -targets=DEVICE -input=../object -output=x", true),
    ("-type=a -unbundle -targets=DEVICE -input=../archive -output=x", false),
];

/// Mode of the existing file.
const MODE: u32 = 0o640;

pub fn keep_their_mode_and_hard_links(pair: &Pair) -> Result<()> {
    let make = |name: &str, line: &str| {
        let result = pair.call(Side::Theirs, &Call::line(&spelled(line)))?;
        let Some(DirectoryEntry::File { bytes, .. }) = result.left.get("x") else { anyhow::bail!("{}", result.err) };
        fs::write(pair.directory.join(name), bytes).context(line.to_owned())
    };
    make("plain", CALLS[0].0)?;
    make("object", CALLS[3].0)?;
    Step::new(&pair.directory, Tool::Ar.path()?).args(["rcD", "archive", "object"]).run()?;
    for size in [prepare_short, prepare_long] {
        for (line, is_kept) in CALLS {
            let line = spelled(line);
            let call = Call { prepare: size, ..Call::line(&line) };
            if is_kept {
                let (_, ours) = same::calls(pair, &call)?;
                ensure!(ours.left.get("x") == ours.left.get("link"), "{line}: not one file");
            } else {
                // The tool truncates the file, and then replaces it by one with the mode of a new file. The drop-in replaces
                // it, too, and keeps its mode like every output of fatbin.
                let (theirs, ours) = pair.both(&call)?;
                let has_mode = ours.left.get("x").map(mode) == Some(MODE);
                let is_replaced = has_mode && ours.left.get("x") != ours.left.get("link");
                ensure!(ours.status == 0 && is_replaced, "{}", pair.difference(&call, &theirs, &ours));
            }
        }
    }
    Ok(())
}

fn mode(entry: &DirectoryEntry) -> u32 {
    match entry {
        DirectoryEntry::File { mode, .. } => mode & 0o7777,
        _ => 0,
    }
}

fn prepare_short(directory: &Path) -> Result<()> {
    prepare(directory, 3)
}

fn prepare_long(directory: &Path) -> Result<()> {
    prepare(directory, 400_000)
}

/// Makes a file with another name and another mode.
fn prepare(directory: &Path, size: usize) -> Result<()> {
    let path = directory.join("x");
    fs::write(&path, vec![7; size])?;
    fs::set_permissions(&path, fs::Permissions::from_mode(MODE))?;
    Ok(fs::hard_link(path, directory.join("link"))?)
}
