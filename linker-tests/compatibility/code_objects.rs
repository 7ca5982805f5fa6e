//! AMD's code objects, compared with ld.lld, LLVM's inliner, and clang-offload-bundler.
//!
//! - ld.lld links two objects if they are for one processor, and if no feature is on in one and off in the other. A device
//!   is an object that sets all features.
//! - Code for a generic processor uses only instructions that all members have. The inliner decides that: it inlines a function
//!   into a kernel of another processor if the latter has all features of the former.
//! - clang-offload-bundler takes code objects for a target ID from bundles, by LLVM's rules of compatibility.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use fatbin_core::target::compatibility::KindRules;
use fatbin_core::target::{BundleEntryId, TargetId};

use object::read::elf::FileHeader as _;
use object::{Endianness, elf};

use super::target_ids::{processors, settings_of};
use super::{Answers, Pair, TooLenient, accepts, agree, selected};
use crate::harness::parallel::parallel;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::harness::trial::fresh_directory;

/// Features of generic processors that the inliner requires of the caller, and that no instruction needs: the version of the
/// code object, the way around defects of some members, and limits of memory and priorities.
const NOT_INSTRUCTIONS: [&str; 8] = [
    "requires-cov6",
    "mad-intra-fwd-bug",
    "msaa-load-dst-sel-bug",
    "priv-enabled-trap2-nop-bug",
    "user-sgpr-init16-bug",
    "valu-trans-use-hazard",
    "required-export-priority",
    "addressablelocalmemorysize65536",
];

/// A processor with all features of a generic one that does not include it. No tool decides that.
const NOT_MEMBERS: [TooLenient; 1] = [TooLenient {
    code: "gfx9-generic",
    device: "gfx908",
    source: "AMDGPU usage guide, Generic Processor ABI, and AMDGPUTargetParser.def of LLVM 23: gfx908 has no family",
}];

/// Bits of `e_flags` that number the processor. Source: AMDGPU usage guide, `EF_AMDGPU_MACH`.
const MACHINE: u32 = 0xff;

/// Of pairs of different processors, ld.lld is asked about one in this many, in each row and column.
const SAMPLE: usize = 8;

/// Code objects for one processor each, on every device. Generic processors are left out, because ld.lld compares the names.
/// `FATBIN_ALL_LINKS=1` in the environment asks about every pair. ld.lld compares the numbers of processors in the headers, so
/// it rejects a pair with different numbers.
pub fn agrees_with_lld(directory: &Path) -> Result<()> {
    let lld = llvm_tool("ld.lld", "22", "lld-22")?;
    let mut codes = Codes::link_to(directory)?;
    codes.files.retain(|code, _| !is_generic(code));
    let pairs: Vec<Pair> = codes.pairs();
    let links: BTreeSet<Pair> = pairs.iter().map(asked).collect();
    let machines = codes.machines(directory)?;
    let is_all = std::env::var_os("FATBIN_ALL_LINKS").is_some_and(|value| value == "1");
    let is_sampled = |[one, other]: [usize; 2]| (one + other).is_multiple_of(SAMPLE);
    let (links, rejected): (Vec<Pair>, Vec<Pair>) = links.into_iter().partition(|(code, device)| {
        let [one, other] = [code, device].map(|id| machines[processor(id)]);
        is_all || one.number == other.number || is_sampled([one.row, other.row])
    });
    let rejections = ["incompatible mach", "incompatible xnack", "incompatible sramecc"];
    let answers = parallel(&links, |(code, device)| {
        let arguments = ["--threads=1", "-shared", "-o", "/dev/null", &object(code), &object(device)];
        accepts(directory, &lld, &arguments, &rejections)
    })?;
    println!("compatibility/lld: {} links, {} pairs of different processors", links.len(), rejected.len());
    let of_lld: Answers =
        links.into_iter().zip(answers).chain(rejected.into_iter().map(|pair| (pair, false))).collect();
    let theirs: Answers = pairs.into_iter().map(|pair| (pair.clone(), of_lld[&asked(&pair)])).collect();
    ensure!(theirs.len() >= 5000, "{} pairs", theirs.len());
    agree("lld", &selected(directory, &codes.files, &codes.devices)?, &theirs, &[])
}

/// Code objects for generic processors, on every device.
pub fn agrees_with_the_inliner(directory: &Path) -> Result<()> {
    let mut codes = Codes::link_to(directory)?;
    codes.files.retain(|code, _| is_generic(code) && processor(code) == code);
    let generic: Vec<&String> = codes.files.keys().collect();
    let members: BTreeSet<&str> = codes.devices.iter().map(|device| processor(device)).collect();
    let inlined = inlined(directory, &generic, &members)?;
    let theirs: Answers = codes
        .files
        .keys()
        .flat_map(|code| members.iter().map(|member| (code.clone(), (*member).to_owned())))
        .map(|pair| (pair.clone(), inlined.contains(&pair)))
        .collect();
    // The generic code objects leave the features open, so every setting of a device has the same answer.
    let mut ours = Answers::new();
    for ((code, device), runs) in selected(directory, &codes.files, &codes.devices)? {
        let pair = (code, processor(&device).to_owned());
        ensure!(ours.insert(pair, runs).is_none_or(|before| before == runs), "{device}: depends on its features");
    }
    ensure!(theirs.len() >= 250, "{} pairs", theirs.len());
    agree("inliner", &ours, &theirs, &NOT_MEMBERS)
}

/// Code objects in bundles, for every device.
pub fn agrees_with_the_bundler(directory: &Path) -> Result<()> {
    let bundler = Tool::OffloadBundler.path()?;
    let codes = Codes::link_to(directory)?;
    let ids: Vec<&String> = codes.files.keys().collect();
    std::fs::write(directory.join("host"), "host")?;
    let numbers: Vec<usize> = (0..ids.len()).collect();
    let bundles = parallel(&numbers, |&number| {
        let bundle = format!("{number:04}.o");
        let targets = format!("-targets=host-x86_64-unknown-linux-gnu-,{}", entry(ids[number]));
        let (input, output) = (format!("-input={}", object(ids[number])), format!("-output={bundle}"));
        Step::new(directory, &bundler).args(["-type=o", &targets, "-input=host", &input, &output]).run()?;
        Ok(bundle)
    })?;
    Step::new(directory, Tool::Ar.path()?).args(["rc", "bundles.a"]).args(&bundles).run()?;
    let targets: Vec<String> = codes.devices.iter().map(|device| entry(device)).collect();
    let outputs = (0..targets.len()).map(|number| format!("-output={number}.a"));
    Step::new(directory, &bundler)
        .args(["-unbundle", "-type=a", "-allow-missing-bundles", "-input=bundles.a"])
        .arg(format!("-targets={}", targets.join(",")))
        .args(outputs)
        .run()?;
    let mut theirs = Answers::new();
    let mut ours = Answers::new();
    for (number, device) in codes.devices.iter().enumerate() {
        let members = Step::new(directory, Tool::Ar.path()?).args(["t", &format!("{number}.a")]).run()?.stdout;
        for (number, code) in ids.iter().enumerate() {
            let pair = ((*code).clone(), device.clone());
            let prefix = format!("{number:04}-");
            theirs.insert(pair.clone(), members.lines().any(|member| member.starts_with(&prefix)));
            ours.insert(pair, is_compatible(&entry(code), &entry(device))?);
        }
    }
    ensure!(theirs.len() >= 5000, "{} pairs", theirs.len());
    agree("bundler", &ours, &theirs, &[])
}

/// A processor in the headers of code objects.
#[derive(Clone, Copy)]
struct Machine {
    number: u32,
    /// Place in the order of the names.
    row: usize,
}

/// Code objects by target ID, and devices.
#[derive(Clone)]
struct Codes {
    files: BTreeMap<String, PathBuf>,
    devices: BTreeSet<String>,
}

impl Codes {
    /// Returns code objects in a directory. The first call assembles them.
    fn link_to(directory: &Path) -> Result<Codes> {
        static ASSEMBLED: Mutex<Option<Codes>> = Mutex::new(None);
        let mut assembled = ASSEMBLED.lock().unwrap_or_else(PoisonError::into_inner);
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compatibility/code-objects");
        let codes = match &*assembled {
            Some(codes) => codes.clone(),
            None => assembled.insert(Codes::assemble(&fresh_directory("compatibility", "code-objects")?)?).clone(),
        };
        for (id, file) in &codes.files {
            for file in [file, &PathBuf::from(object(id))] {
                std::fs::hard_link(source.join(file), directory.join(file))?;
            }
        }
        Ok(codes)
    }

    /// Assembles and links a code object for every processor that clang knows, with every setting of its features.
    fn assemble(directory: &Path) -> Result<Codes> {
        std::fs::write(directory.join("empty.s"), ".text\n")?;
        let clang = Tool::Clang.path()?;
        let lld = llvm_tool("ld.lld", "22", "lld-22")?;
        let mut ids = Vec::new();
        let mut devices = BTreeSet::new();
        for processor in processors(directory)? {
            let settings = settings_of(&processor);
            // The longest ID sets every feature.
            let longest = settings.iter().map(String::len).max().unwrap_or_default();
            let complete = settings.iter().filter(|settings| settings.len() == longest && !is_generic(&processor));
            devices.extend(complete.map(|settings| format!("{processor}{settings}")));
            ids.extend(settings.iter().map(|settings| format!("{processor}{settings}")));
        }
        ensure!(ids.len() >= 120 && devices.len() >= 70, "{} target IDs, {} devices", ids.len(), devices.len());
        let files = parallel(&ids, |id| {
            let cpu = format!("-mcpu={id}");
            let arguments = ["--target=amdgcn-amd-amdhsa", &cpu, "-c", "empty.s", "-o", &object(id)];
            Step::new(directory, &clang).args(arguments).run()?;
            let linked = format!("{}.hsaco", object(id));
            Step::new(directory, &lld).args(["--threads=1", "-shared", "-o", &linked, &object(id)]).run()?;
            Ok(PathBuf::from(linked))
        })?;
        Ok(Codes { files: ids.into_iter().zip(files).collect(), devices })
    }

    /// Returns the numbers of the processors in the headers.
    fn machines(&self, directory: &Path) -> Result<BTreeMap<&str, Machine>> {
        let mut machines = BTreeMap::new();
        for (code, file) in &self.files {
            let bytes = std::fs::read(directory.join(file))?;
            let flags = elf::FileHeader64::<Endianness>::parse(&*bytes)?.e_flags(Endianness::Little);
            let machine = Machine { number: flags.0 & MACHINE, row: machines.len() };
            let known = machines.entry(processor(code)).or_insert(machine);
            ensure!(known.number == machine.number, "{code}: another number than the processor");
        }
        Ok(machines)
    }

    fn pairs(&self) -> Vec<Pair> {
        let of_code =
            |code: &String| self.devices.iter().map(|device| (code.clone(), device.clone())).collect::<Vec<_>>();
        self.files.keys().flat_map(of_code).collect()
    }
}

fn object(id: &str) -> String {
    format!("{}.o", id.replace(':', "_"))
}

fn entry(id: &str) -> String {
    format!("hip-amdgcn-amd-amdhsa--{id}")
}

fn processor(id: &str) -> &str {
    id.split(':').next().unwrap_or(id)
}

fn is_generic(id: &str) -> bool {
    processor(id).ends_with("-generic")
}

/// Returns the pair that lld is asked about. For one processor it is the pair itself. For two processors it does not
/// depend on the features and the order: lld compares the processors first.
fn asked(pair: &Pair) -> Pair {
    let (code, device) = pair;
    let processors = [processor(code), processor(device)];
    match processors {
        [one, other] if one == other => pair.clone(),
        [one, other] => (one.min(other).to_owned(), one.max(other).to_owned()),
    }
}

fn is_compatible(code: &str, device: &str) -> Result<bool> {
    let parse = |id| BundleEntryId::parse(id).context("not an ID of an entry");
    let (code, device) = (parse(code)?, parse(device)?);
    let ids = [&code, &device].map(|id| id.stated_target_id().is_some_and(|id| TargetId::parse(id).is_ok()));
    ensure!(ids == [true, true], "a target ID is not valid");
    Ok(code.serves(&device, KindRules::default()).is_ok())
}

/// Returns the pairs of processors where LLVM inlines a function of the first into a kernel of the second.
fn inlined(directory: &Path, functions: &[&String], kernels: &BTreeSet<&str>) -> Result<BTreeSet<Pair>> {
    std::fs::write(directory.join("calls.ll"), calls(functions, kernels)?)?;
    let opt = Tool::Opt.path()?;
    let done = Step::new(directory, opt)
        .args(["-S", "-passes=cgscc(inline)", "-inline-threshold=100000", "calls.ll"])
        .run()?;
    // A feature that LLVM no longer knows would be ignored.
    ensure!(!done.report.contains("not a recognized feature"), done.error("a feature is unknown"));
    let mut pairs: BTreeSet<Pair> = functions
        .iter()
        .flat_map(|function| kernels.iter().map(|kernel| ((*function).clone(), (*kernel).to_owned())))
        .collect();
    let mut kernel = None;
    for line in done.stdout.lines() {
        if let Some((_, rest)) = line.split_once("@\"kernel ") {
            kernel = rest.split('"').next();
        } else if let Some((_, rest)) = line.split_once("call i32 @\"function ") {
            let function = rest.split('"').next().unwrap_or_default();
            let pair = (function.to_owned(), kernel.unwrap_or_default().to_owned());
            ensure!(pairs.remove(&pair), "unexpected call: {line}");
        }
    }
    ensure!(kernel.is_some() && !pairs.is_empty(), done.error("no kernels"));
    Ok(pairs)
}

/// Returns a module with a function for each processor of `functions`, and a kernel for each of `kernels` that calls them all.
fn calls(functions: &[&String], kernels: &BTreeSet<&str>) -> Result<String> {
    let without: Vec<String> = NOT_INSTRUCTIONS.iter().map(|feature| format!("-{feature}")).collect();
    let without = without.join(",");
    let mut text = "target triple = \"amdgcn-amd-amdhsa\"\n".to_owned();
    for cpu in functions {
        let attributes = format!("\"target-cpu\"=\"{cpu}\" \"target-features\"=\"{without}\"");
        writeln!(
            text,
            "define internal i32 @\"function {cpu}\"(i32 %x) {attributes} {{\n  %y = mul i32 %x, 7\n  ret i32 %y\n}}"
        )?;
    }
    for cpu in kernels {
        writeln!(
            text,
            "define amdgpu_kernel void @\"kernel {cpu}\"(i32 %x, ptr addrspace(1) %p) \"target-cpu\"=\"{cpu}\" {{"
        )?;
        for (number, function) in functions.iter().enumerate() {
            writeln!(text, "  %r{number} = call i32 @\"function {function}\"(i32 %x)")?;
            writeln!(text, "  store volatile i32 %r{number}, ptr addrspace(1) %p")?;
        }
        writeln!(text, "  ret void\n}}")?;
    }
    Ok(text)
}
