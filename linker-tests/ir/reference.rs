//! Objects compiled from the drop-ins' output, compared with objects from the output of LLVM's tools.
//!
//! OpenMP's objects are equal symbol by symbol: sections, bytes, alignment and relocations. The functions of CUDA and HIP
//! have other machine code for the same calls, which `matrix` compares, so only their data is compared here.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolKind};

use super::{link_drop_in, write_images};
use crate::harness::step::Step;
use crate::harness::tools::llvm_tool;
use crate::harness::trial::{completion, fresh_directory};

/// A command line: release, tool, package, arguments.
const CALLS: [(&str, &str, &str, &[&str]); 8] = [
    ("14", "clang-offload-wrapper", "clang-tools-14", &["-target", "x86_64-pc-linux-gnu", "every-byte", "large"]),
    ("15", "clang-offload-wrapper", "clang-tools-15", &["-target", "x86_64-pc-linux-gnu", "large"]),
    ("15", "clang-offload-wrapper", "clang-tools-15", &["-target=aarch64-unknown-linux-gnu", "large", "every-byte"]),
    // Hosts without support for writing objects. IR depends on them only by the triple.
    ("14", "clang-offload-wrapper", "clang-tools-14", &["-target=mips64-linux-gnu", "large"]),
    ("15", "clang-offload-wrapper", "clang-tools-15", &["-target=sparc-sun-solaris", "every-byte"]),
    (
        "22",
        "llvm-offload-wrapper",
        "llvm-22",
        &["--kind=openmp", "--triple=x86_64-pc-linux-gnu", "large", "every-byte"],
    ),
    ("22", "llvm-offload-wrapper", "llvm-22", &["--kind=cuda", "--triple=x86_64-pc-linux-gnu", "large"]),
    ("22", "llvm-offload-wrapper", "llvm-22", &["--kind=hip", "--triple=x86_64-pc-linux-gnu", "every-byte"]),
];

pub fn trials() -> Vec<Trial> {
    let trials = CALLS.iter().enumerate().map(|(index, &(release, tool, package, arguments))| {
        let name = format!("reference-{index}-{release}");
        Trial::ignorable_test(format!("ir/{name}"), move || {
            let directory = fresh_directory("ir", &name);
            completion(directory.and_then(|directory| equals(&directory, release, tool, package, arguments)))
        })
    });
    trials.collect()
}

fn equals(directory: &Path, release: &str, tool: &str, package: &str, arguments: &[&str]) -> Result<()> {
    write_images(directory)?;
    let versioned = format!("{tool}-{release}");
    link_drop_in(&directory.join("links"), &versioned)?;
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    let has_functions = !arguments.iter().any(|argument| ["--kind=cuda", "--kind=hip"].contains(argument));
    let theirs = llvm_tool(tool, release, package)?;
    let mut objects = Vec::new();
    for (side, program) in [("theirs", theirs), ("ours", directory.join("links").join(versioned))] {
        let (bitcode, object) = (format!("{side}.bc"), format!("{side}.o"));
        Step::new(directory, program).args(arguments).args(["-o", &bitcode]).run()?;
        let target =
            arguments.iter().find(|argument| argument.contains("aarch64")).map(|_| "--target=aarch64-linux-gnu");
        let step =
            Step::new(directory, &clang).args(target).args(["-O2", "-fPIC", "-Wno-override-module", "-c", &bitcode]);
        step.args(["-o", &object]).run()?;
        objects.push(symbols(&std::fs::read(directory.join(object))?, has_functions)?);
    }
    let (theirs, ours) = (&objects[0], &objects[1]);
    ensure!(theirs.len() > 5, "the reference has only {} symbols", theirs.len());
    for name in theirs.keys().chain(ours.keys()) {
        let (left, right) = (theirs.get(name), ours.get(name));
        ensure!(left == right, "{name}: in LLVM's object:\n{left:#?}\nin fatbin's:\n{right:#?}");
    }
    Ok(())
}

/// A symbol of an object, without its position in the object.
#[derive(Debug, PartialEq, Eq)]
struct SymbolContents {
    section: Option<SectionProperties>,
    bytes: Vec<u8>,
    /// Offset in the symbol, type, name of the target's symbol, and distance from that.
    relocations: Vec<(u64, String, String, i64)>,
}

#[derive(Debug, PartialEq, Eq)]
struct SectionProperties {
    name: String,
    flags: String,
    alignment: u64,
}

/// Differences that are intended: the placeholder is local in every release, so that two wrappers can be linked; HIP's fat
/// binary is aligned to a page, as clang aligns it in objects of a single file.
fn is_other_alignment(section: &str) -> bool {
    section == ".hip_fatbin"
}

/// Returns the symbols of an object by name, and its constructors by section.
fn symbols(object: &[u8], has_functions: bool) -> Result<BTreeMap<String, SymbolContents>> {
    let file = object::File::parse(object)?;
    let mut found = BTreeMap::new();
    for symbol in file.symbols() {
        let is_function = symbol.kind() == SymbolKind::Text;
        let is_helper = symbol.kind() == SymbolKind::File || symbol.kind() == SymbolKind::Section;
        let is_runtime = symbol.is_undefined() && !symbol.name()?.starts_with("__st");
        if is_helper || symbol.name()?.is_empty() || (!has_functions && (is_function || is_runtime)) {
            continue;
        }
        let contents = match symbol.section_index() {
            Some(section) => contents(&file, section, symbol.address(), symbol.size())?,
            None => SymbolContents { section: None, bytes: Vec::new(), relocations: Vec::new() },
        };
        found.insert(symbol.name()?.to_owned(), contents);
    }
    for section in file.sections() {
        let name = section.name()?;
        if name.starts_with(".init_array") || name.starts_with(".fini_array") {
            found.insert(name.to_owned(), contents(&file, section.index(), 0, section.size())?);
        }
    }
    Ok(found)
}

fn contents(file: &object::File, index: SectionIndex, address: u64, size: u64) -> Result<SymbolContents> {
    let section = file.section_by_index(index)?;
    let name = section.name()?.to_owned();
    let alignment = if is_other_alignment(&name) { 0 } else { section.align() };
    let bytes = section.data()?.get(address as usize..(address + size) as usize).unwrap_or_default().to_vec();
    let mut relocations = Vec::new();
    for (offset, relocation) in section.relocations() {
        if !(address..address + size).contains(&offset) {
            continue;
        }
        let (target, distance) = target(file, relocation.target(), relocation.addend())?;
        let kind = format!("{:?} {:?}", relocation.flags(), relocation.kind());
        relocations.push((offset - address, kind, target, distance));
    }
    let flags = format!("{:?} {:?}", section.kind(), section.flags());
    Ok(SymbolContents { section: Some(SectionProperties { name, flags, alignment }), bytes, relocations })
}

/// Returns the symbol that a relocation refers to, through a section or not, and the distance from it.
fn target(file: &object::File, target: RelocationTarget, addend: i64) -> Result<(String, i64)> {
    let RelocationTarget::Symbol(index) = target else { return Ok((format!("{target:?}"), addend)) };
    let symbol = file.symbol_by_index(index)?;
    if symbol.kind() != SymbolKind::Section {
        return Ok((symbol.name()?.to_owned(), addend));
    }
    // Instructions refer to the byte after themselves: the symbol that contains the address, or ends there.
    let section = symbol.section_index();
    let section_name = file.section_by_index(section.context("a section")?)?.name()?.to_owned();
    let mut candidates: Vec<_> = file
        .symbols()
        .filter(|other| other.section_index() == section && other.kind() != SymbolKind::Section && other.size() > 0)
        .filter(|other| (other.address() as i64 - 4..=(other.address() + other.size()) as i64).contains(&addend))
        .collect();
    candidates.sort_by_key(ObjectSymbol::address);
    let found = candidates.first().with_context(|| format!("no symbol at {section_name} + {addend:#x}"))?;
    Ok((found.name()?.to_owned(), addend - found.address() as i64))
}
