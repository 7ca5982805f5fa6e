//! Response files: their words compared with the words that linkers read, and one that `fatbin link` writes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{fatbin, forms};
use crate::harness::command::command;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Texts of response files, whose words no linker finds.
const TEXTS: [&str; 6] = [
    r#"'a\d' "x\y" m\ n g\\h"#,
    r#""p q"  "" 'r s' t"u v""#,
    r#"'i\'j' "k'l""#,
    r#""a\\" c\\"d e" f\"g"#,
    r#""u""v" "p""" q"#,
    "one\n\ttwo\r\nthree",
];

/// The words come from the messages of each linker about missing files.
pub fn quotes(directory: &Path) -> Result<()> {
    let linkers = [
        (Tool::Bfd, "cannot find ", ": "),
        (Tool::Lld, "cannot open ", ": "),
        (Tool::LldLink, "could not open '", "': "),
    ];
    for (tool, before, after) in linkers {
        let linker = tool.path()?;
        for text in TEXTS {
            std::fs::write(directory.join("words"), text)?;
            let output = command(&linker).arg("@words").current_dir(directory).output()?;
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            let missing = |line: &str| Some(line.split_once(before)?.1.rsplit_once(after)?.0.to_owned());
            let expected: Vec<String> = message.lines().filter_map(missing).filter(|word| !word.is_empty()).collect();
            ensure!(!expected.is_empty(), "{linker:?} {text}: {message}");
            let found = words(directory, &linker)?;
            // Not every linker mentions an empty word.
            let found: Vec<String> = found.into_iter().filter(|word| !word.is_empty()).collect();
            ensure!(found == expected, "{linker:?} {text}: {found:?}, expected {expected:?}");
        }
    }
    Ok(())
}

/// Returns the words of a linker's command line with a response file, as the dry run prints them for a shell.
fn words(directory: &Path, linker: &Path) -> Result<Vec<String>> {
    let done = fatbin(directory).args(["link", "--dry-run", "--"]).arg(linker).arg("@words").run()?;
    let line = done.report.lines().find_map(|line| line.strip_prefix("fatbin: link: ")).context("a command")?;
    let mut shell = command("sh");
    let output = shell.arg("-c").arg(format!("printf '%s\\n' {line}")).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().skip(1).map(str::to_owned).collect())
}

/// More images than fit in a command line are linked, by words in a response file.
pub fn many_images(directory: &Path) -> Result<()> {
    const COUNT: usize = 700;
    std::fs::write(
        directory.join("weak.hip"),
        forms::HELPER.replace("int helper", "__attribute__((weak)) int helper"),
    )?;
    let hip = ["-x", "hip", "-nogpulib", "-nogpuinc", "-fgpu-rdc", "--offload-new-driver", "--offload-arch=gfx90a"];
    Step::new(directory, Tool::Clang.path()?).args(hip).args(["-c", "weak.hip", "-o", "weak.o"]).run()?;
    let name = "n".repeat(200);
    let mut objects = Vec::new();
    for number in 0..COUNT {
        let object = PathBuf::from(format!("{name}-{number}.o"));
        std::fs::hard_link(directory.join("weak.o"), directory.join(&object))?;
        objects.push(object);
    }
    Step::new(directory, Tool::Ar.path()?).args(["rcs", "libweak.a"]).args(&objects).run()?;
    let link = fatbin(directory).args(["link", "-v", "--device-linker=--allow-multiple-definition", "--"]);
    // All objects have the module ID of the first.
    let link = link.arg(Tool::Bfd.path()?);
    let done = link.args(["-r", "-z", "muldefs", "-o", "linked.o", "--whole-archive", "libweak.a"]).run()?;
    let uses_file =
        done.report.lines().any(|line| line.contains("ld.lld") && line.contains(" @") && line.ends_with(".rsp"));
    ensure!(uses_file, "{}", done.error("expected a response file"));
    let scan = fatbin(directory).args(["scan", "linked.o"]).run()?;
    ensure!(scan.stdout.contains("gfx90a"), "{}", scan.error("expected an image"));
    Ok(())
}
