//! The schema of policies in Taplo, the checker and language server of TOML that editors run.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::{end, path_with_program, project, root};
use crate::harness::command::command;
use crate::harness::tools::not_fetched;

fn taplo() -> Result<PathBuf> {
    let path = root().join("target/runtimes/taplo/taplo");
    if path.exists() { Ok(path) } else { Err(not_fetched("taplo").into()) }
}

/// A generated policy names its schema. Taplo accepts it, and reports a wrong key and a wrong value with their lines.
pub fn taplo_reports_wrong_keys_with_their_lines(directory: &Path) -> Result<()> {
    let taplo = taplo()?;
    project(directory, "gfx90a")?;
    let check = |file: &str| end(command(&taplo).args(["check", file]).current_dir(directory));
    let script = "fatbin check --init --schema fatbin-policy.schema.json dist > good.toml
                  sed '/^require = /a requires = [\"gfx942\"]' good.toml > wrong-key.toml
                  sed 's/^debug = .*/debug = \"some\"/' good.toml > wrong-value.toml";
    end(command("sh").args(["-ec", script]).current_dir(directory).env("PATH", path_with_program()?))?
        .must_be(0, "")?;
    check("good.toml")?.must_be(0, "")?;
    for (file, wrong, message) in [
        ("wrong-key.toml", "requires = ", "('requires' was unexpected)"),
        ("wrong-value.toml", "debug = \"some\"", "is not one of [\"none\",\"lines\",\"full\"]"),
    ] {
        let text = std::fs::read_to_string(directory.join(file))?;
        let line = 1 + text.lines().take_while(|line| !line.starts_with(wrong)).count();
        let ended = check(file)?;
        ended.must_be(1, message)?;
        ensure!(ended.text.contains(&format!("{file}:{line}:")), "line {line}: {}", ended.text);
    }
    let schema = format!("file://{}", directory.join("fatbin-policy.schema.json").display());
    for (name, status) in [("test", 0), ("negative_test", 1)] {
        for entry in std::fs::read_dir(root().join("packaging/schemastore").join(name))? {
            let path = entry?.path();
            end(command(&taplo).args(["check", "--schema", &schema]).arg(&path))?.must_be(status, "")?;
        }
    }
    Ok(())
}
