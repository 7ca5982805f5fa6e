//! NVIDIA's tools, and the architectures that they list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::harness::command::command;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, not_fetched};

/// A release of ptxas.
pub struct Ptxas {
    pub path: PathBuf,
    /// Newest version of the PTX ISA that it compiles.
    version: String,
    /// Architectures that it compiles for, by name: `sm_90a`.
    pub listed: BTreeSet<String>,
}

/// Earlier releases, newest first, and their versions of the PTX ISA: they compile for devices that later ones have dropped.
const EARLIER: [(&str, &str); 2] = [("12.9", "8.8"), ("11.8", "7.8")];

impl Ptxas {
    pub fn newest(directory: &Path) -> Result<Ptxas> {
        let path = Tool::Ptxas.path()?;
        let versions = Step::new(directory, &path).arg("--list-version").run()?.stdout;
        let version = versions.lines().last().context("no version of the PTX ISA")?.trim().to_owned();
        let listed = listed(directory, &path, "--gpu-name")?;
        Ok(Ptxas { path, version, listed })
    }

    /// Returns all releases, the newest first.
    pub fn releases(directory: &Path) -> Result<Vec<Ptxas>> {
        let mut releases = vec![Ptxas::newest(directory)?];
        for (release, version) in EARLIER {
            let path = fetched(&format!("ptxas-{release}")).join("ptxas");
            let path = Some(path).filter(|path| path.is_file()).ok_or_else(|| not_fetched("ptxas"))?;
            let listed = listed(directory, &path, "--gpu-name")?;
            releases.push(Ptxas { path, version: version.to_owned(), listed });
        }
        Ok(releases)
    }

    /// Returns the name of a file of [`Self::write`].
    pub fn file(&self, target: &str) -> String {
        format!("{target}-{}.ptx", self.version)
    }

    /// Writes a kernel as PTX, and returns the name of the file. No other file has the same name, nor its kernel.
    pub fn write(&self, directory: &Path, target: &str) -> Result<String> {
        self.write_kernel(directory, target, &format!("kernel_{target}"))
    }

    pub fn write_kernel(&self, directory: &Path, target: &str, kernel: &str) -> Result<String> {
        self.write_text(directory, target, &format!(".visible .entry {kernel}()\n{{\n\tret;\n}}\n"))
    }

    /// Writes kernels as PTX, and returns the name of the file.
    pub fn write_text(&self, directory: &Path, target: &str, kernels: &str) -> Result<String> {
        let file = self.file(target);
        let text = format!(".version {}\n.target {target}\n.address_size 64\n{kernels}", self.version);
        std::fs::write(directory.join(&file), text)?;
        Ok(file)
    }

    /// Writes a kernel for each of the names that it accepts in the directive `.target`, and returns these names. One run
    /// reports each of the others.
    pub fn known_targets(&self, directory: &Path, names: &[String]) -> Result<Vec<String>> {
        let device = self.listed.last().context("no architectures")?;
        let mut ptxas = command(&self.path);
        ptxas.current_dir(directory).arg(format!("-arch={device}")).args(["-o", "/dev/null"]);
        for name in names {
            ptxas.arg(self.write(directory, name)?);
        }
        let output = ptxas.output()?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let unknown = text.lines().filter_map(|line| line.split_once(UNKNOWN)?.1.split('\'').nth(1));
        let unknown: BTreeSet<&str> = unknown.collect();
        ensure!(unknown.len() < names.len(), "{}: {text}", self.path.display());
        Ok(names.iter().filter(|name| !unknown.contains(name.as_str())).cloned().collect())
    }
}

/// Parts of the messages of ptxas about PTX that is not for a device, and about a target that it does not know.
pub const INCOMPATIBLE: [&str; 2] = ["cannot be compiled", "is higher than default SM version"];
const UNKNOWN: &str = "Unsupported .target";

/// Returns the names `sm_*` that the help of a tool lists under an option.
pub fn listed(directory: &Path, tool: &Path, option: &str) -> Result<BTreeSet<String>> {
    let help = Step::new(directory, tool).arg("--help").run()?;
    let (_, section) = help.stdout.split_once(&format!("\n{option} ")).with_context(|| help.error(option))?;
    let section = section.split("\n\n").next().unwrap_or_default();
    // The text before the list mentions the prefix alone.
    let names = section.split('\'').filter(|name| name.starts_with("sm_") && *name != "sm_");
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    ensure!(names.len() > 10, help.error(format!("{} architectures listed", names.len())));
    Ok(names)
}

/// Returns the device of code: `sm_90` for `sm_90a`.
pub fn device_of(arch: &str) -> &str {
    arch.trim_end_matches(['a', 'f'])
}
