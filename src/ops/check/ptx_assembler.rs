//! PTX, assembled by NVIDIA's ptxas for the devices that depend on it. The driver compiles it with the same compiler when
//! the program starts, where an error is late.

use std::collections::{BTreeSet, HashMap};
use std::fs::File as DiskFile;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::analyze::select::{CandidateSet, candidate_sets, program_sets};
use crate::analyze::survey::map_all;
use crate::check::policy::Requirements;
use crate::check::target::PolicyTarget;
use fatbin_core::base::error::Result;
use fatbin_core::base::io::ends_with_parent;
use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::{CodeRole, File};
use fatbin_core::scan::{ImageRef, ScannedFile};
use fatbin_core::target::runs_on::LoadMethod;
use fatbin_core::target::{Device, Platform};

/// Longest time that ptxas may take for one device. Large kernels take seconds.
const LIMIT: Duration = Duration::from_secs(300);

/// Time between two looks at a running ptxas.
const INTERVAL: Duration = Duration::from_millis(5);

/// Runs ptxas. Equal PTX is assembled once for each device.
#[derive(Debug)]
pub struct PtxAssembler {
    program: PathBuf,
    /// Sources, outputs and messages; removed with the assembler.
    directory: TempDir,
    runs: AtomicUsize,
    results: Mutex<HashMap<Key, Arc<OnceLock<AssemblyResult>>>>,
}

/// Hash of PTX, and the device.
type Key = ([u8; 32], String);

/// An image that was assembled for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembly {
    /// Index among the device images of the file.
    pub(crate) image: usize,
    /// The device: `sm_90`.
    pub(crate) device: String,
    pub(crate) result: AssemblyResult,
}

/// Answer of ptxas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AssemblyResult {
    Assembled,
    /// The message of ptxas, and the kernel or function that it is about.
    Failed {
        message: String,
        kernel: Option<String>,
    },
    /// Reason why it is not known whether the PTX assembles.
    Unknown(String),
}

impl PtxAssembler {
    /// Creates an assembler that runs this program, and its directory.
    pub fn new(program: &Path) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("fatbin-ptxas").tempdir()?;
        let program = std::path::absolute(program)?;
        Ok(PtxAssembler { program, directory, runs: AtomicUsize::new(0), results: Mutex::default() })
    }

    /// Assembles the PTX of a file for the devices of a policy that depend on it. PTX that none of them depends on is
    /// assembled for its own architecture.
    pub fn assemble(&self, scanned: &ScannedFile, requirements: &Requirements) -> Result<Vec<Assembly>> {
        let needed = needed(scanned.file(), requirements);
        if needed.is_empty() {
            return Ok(Vec::new());
        }
        let scan = scanned.open()?;
        let assemble = |image: &ImageRef<'_>| {
            let devices = needed.iter().filter(|(number, _)| *number == image.index());
            let results = devices.map(|(number, device)| {
                let result = match image.read() {
                    Ok(bytes) => self.result(bytes.trim_ascii_end(), device),
                    Err(problem) => AssemblyResult::Unknown(problem.to_string()),
                };
                Assembly { image: *number, device: device.clone(), result }
            });
            results.collect::<Vec<_>>()
        };
        let assemblies = map_all(&scan, assemble, &mut |_| ());
        scan.source().input().check_unchanged()?;
        Ok(assemblies.into_iter().flatten().collect())
    }

    fn result(&self, ptx: &[u8], device: &str) -> AssemblyResult {
        let ptx = ptx.iter().rposition(|&byte| byte != 0).and_then(|last| ptx.get(..=last)).unwrap_or_default();
        let key = (Sha256::digest(ptx).into(), device.to_owned());
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let result = Arc::clone(results.entry(key).or_default());
        drop(results);
        result.get_or_init(|| self.run(ptx, device).unwrap_or_else(|error| self.cannot_run(&error))).clone()
    }

    fn cannot_run(&self, error: &io::Error) -> AssemblyResult {
        AssemblyResult::Unknown(format!("cannot run {}: {error}", self.program.display()))
    }

    fn run(&self, ptx: &[u8], device: &str) -> io::Result<AssemblyResult> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let place = |extension: &str| self.directory.path().join(format!("{number}.{extension}"));
        let (source, output, log) = (place("ptx"), place("cubin"), place("log"));
        std::fs::write(&source, ptx)?;
        let messages = DiskFile::create(&log)?;
        let mut command = Command::new(&self.program);
        command.args(["--gpu-name", device, "-o"]).arg(&output).arg(&source);
        command.stdin(Stdio::null()).stdout(messages.try_clone()?).stderr(messages);
        command.env("LC_ALL", "C").current_dir(self.directory.path());
        let status = finished(&mut command)?;
        let text = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
        for path in [source, output, log] {
            let _ = std::fs::remove_file(path);
        }
        Ok(match status {
            None => AssemblyResult::Unknown(format!("ptxas was ended after {} s", LIMIT.as_secs())),
            Some(status) if status.success() => AssemblyResult::Assembled,
            Some(status) if status.code().is_none() => AssemblyResult::Unknown(format!("ptxas ended by {status}")),
            Some(_) => failure(&text, &String::from_utf8_lossy(ptx)),
        })
    }
}

/// Waits for a program; `None` if it was ended because it took too long.
fn finished(command: &mut Command) -> io::Result<Option<ExitStatus>> {
    ends_with_parent(command);
    let mut child = command.spawn()?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Returns what ptxas states about a failure. PTX that is newer than ptxas, and devices that are, leave it open.
fn failure(text: &str, ptx: &str) -> AssemblyResult {
    let is_error = |line: &&str| line.contains("error") || line.contains("fatal");
    let Some(line) = text.lines().find(is_error) else {
        return AssemblyResult::Unknown("ptxas failed without a message".to_owned());
    };
    let (place, message) = line.split_once(" : ").unwrap_or(("", line));
    let (place, message) = (place.trim(), message.trim());
    if message.contains("Unsupported .version") || message.contains("is not defined for option 'gpu-name'") {
        return AssemblyResult::Unknown(format!("older than the code: {message}"));
    }
    let number = place.split_once(", line ").and_then(|(_, rest)| rest.split(';').next()?.parse::<usize>().ok());
    let quoted = || message.split_once("unction '").and_then(|(_, rest)| Some(rest.split_once('\'')?.0.to_owned()));
    let kernel = number.map_or_else(quoted, |number| function_at(ptx, number));
    let place = number.map_or(String::new(), |number| format!("line {number}: "));
    AssemblyResult::Failed { message: format!("{place}{message}"), kernel }
}

/// Returns the name of the last kernel or function that begins up to a line.
fn function_at(ptx: &str, number: usize) -> Option<String> {
    let named = |line: &str| {
        let rest = line.split_once(".entry").or_else(|| line.split_once(".func"))?.1;
        // The parameter that a function returns precedes its name.
        let rest = rest.trim_start();
        let rest = if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest };
        let name = rest.trim_start().split(|c: char| c == '(' || c == '{' || c.is_whitespace()).next()?;
        (!name.is_empty()).then(|| name.to_owned())
    };
    ptx.lines().take(number).filter_map(named).last()
}

/// Returns the images to assemble, each with a device.
fn needed(file: &File, requirements: &Requirements) -> BTreeSet<(usize, String)> {
    let devices: Vec<Device> = requirements.devices.iter().flatten().flat_map(nvidia_devices).collect();
    let mut needed = BTreeSet::new();
    for set in candidate_sets(file).into_iter().chain(program_sets(file)) {
        if set.is_unregistered || set.role != CodeRole::Loaded {
            continue;
        }
        let mut used = BTreeSet::new();
        for device in &devices {
            for number in compiled_on(&set, device) {
                used.insert(number);
                needed.insert((number, device.to_string()));
            }
        }
        let own =
            set.candidates.iter().filter(|it| it.image.image_kind == ImageKind::Ptx && !used.contains(&it.number));
        needed.extend(own.filter_map(|it| Some((it.number, it.image.arch.clone()?))));
    }
    needed
}

/// Returns the PTX that the driver compiles for a device.
fn compiled_on(set: &CandidateSet<'_>, device: &Device) -> Vec<usize> {
    let selection = set.select_on(device);
    let Some((index, LoadMethod::FromPtx)) = selection.selected else { return Vec::new() };
    let all = selection.also_selected.into_iter().chain([index]);
    all.filter_map(|index| Some(set.candidates.get(index)?.number)).collect()
}

fn nvidia_devices(target: &PolicyTarget) -> Vec<Device> {
    let PolicyTarget::Native(id) = target else { return Vec::new() };
    let devices = Device::parse(id).unwrap_or_default().into_iter();
    devices.filter(|device| device.platform() == Platform::Nvidia).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of ptxas 12.9.
    #[test]
    fn messages_name_the_line_and_the_kernel() {
        let ptx = ".visible .entry first()\n{ ret; }\n.func (.param .b32 r) second(\n.param .b32 a)\n{\nbad;\n}\n";
        let failed = |message: &str, kernel: Option<&str>| AssemblyResult::Failed {
            message: message.to_owned(),
            kernel: kernel.map(str::to_owned),
        };
        let cases = [
            ("ptxas 0.ptx, line 6; error   : Unknown symbol 'x'", failed("line 6: Unknown symbol 'x'", Some("second"))),
            ("ptxas 0.ptx, line 1; error   : Bad", failed("line 1: Bad", Some("first"))),
            ("ptxas fatal   : Unresolved extern function 'f'", failed("Unresolved extern function 'f'", Some("f"))),
            (
                "ptxas error   : Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)",
                failed("Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)", Some("k")),
            ),
            (
                "ptxas 0.ptx, line 1; fatal   : Unsupported .version 9.9; current version is '8.8'",
                AssemblyResult::Unknown(
                    "older than the code: Unsupported .version 9.9; current version is '8.8'".to_owned(),
                ),
            ),
            ("", AssemblyResult::Unknown("ptxas failed without a message".to_owned())),
        ];
        for (text, expected) in cases {
            assert_eq!(failure(text, ptx), expected, "{text}");
        }
    }
}
