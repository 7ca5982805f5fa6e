//! Objects of 2,000 cubins, compared with the output of `ld -r -b binary` and of an assembler, and C++ names, compared
//! with clang's.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, ObjectSymbol, SymbolSection};

use super::fatbin;
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

const COUNT: usize = 2000;

/// Maximum overhead of an object for each file, in bytes: section header, symbols, record, alignment.
const MAX_OVERHEAD: usize = 700;

/// Global symbols of an object of GNU ld: bytes at the start, address after the end, and value of the size.
type Symbols = BTreeMap<String, Vec<u8>>;

pub fn objects_equal_those_of_the_linker_and_the_assembler(directory: &Path) -> Result<()> {
    let names = write_cubins(directory)?;
    let (linked, linker_time) = timed(|| {
        let step = Step::new(directory, Tool::Bfd.path()?).args(["-r", "-b", "binary", "-o", "linked.o"]);
        step.args(&names).run()
    })?;
    drop(linked);
    let mut assembly = String::from(".section .rodata\n");
    for name in &names {
        let symbol = name.replace('.', "_");
        writeln!(
            assembly,
            ".globl __{symbol}_start, __{symbol}_end\n.balign 64\n__{symbol}_start: .incbin \"{name}\"\n__{symbol}_end: .byte 0"
        )?;
    }
    assembly += ".section .note.GNU-stack\n";
    std::fs::write(directory.join("cubins.s"), assembly)?;
    let (_, assembler_time) =
        timed(|| Step::new(directory, Tool::Cc.path()?).args(["-c", "cubins.s", "-o", "assembled.o"]).run())?;
    let (_, own_time) =
        timed(|| fatbin(directory).args(["embed", "--symbols", "binary", "-o", "own.o"]).args(&names).run())?;

    let own = symbols(&directory.join("own.o"))?;
    ensure!(own.len() == 3 * COUNT, "{} symbols", own.len());
    let linked = symbols(&directory.join("linked.o"))?;
    ensure!(own == linked, "other symbols or bytes than GNU ld: {:?}", difference(&own, &linked));
    let renamed = |name: &String| name.strip_prefix("_binary_").map(|name| format!("__{name}"));
    let assembled = symbols(&directory.join("assembled.o"))?;
    let expected: Symbols = own
        .iter()
        .filter(|(name, _)| !name.ends_with("_size"))
        .filter_map(|(name, bytes)| Some((renamed(name)?, bytes.clone())))
        .collect();
    ensure!(assembled == expected, "other bytes than the assembler");

    let size = |name: &str| Ok::<_, anyhow::Error>(std::fs::metadata(directory.join(name))?.len() as usize);
    let bytes = names.iter().map(|name| size(name)).sum::<Result<usize>>()?;
    let own_size = size("own.o")?;
    println!(
        "embed/thousands: {COUNT} cubins, {bytes} bytes: {own_size} bytes in {own_time:.2?}, ld -r -b binary {} in \
         {linker_time:.2?}, .incbin {} in {assembler_time:.2?}",
        size("linked.o")?,
        size("assembled.o")?
    );
    ensure!(own_size <= bytes + COUNT * MAX_OVERHEAD, "{own_size} bytes for {bytes}");
    Ok(())
}

/// Writes cubins that differ in their code.
fn write_cubins(directory: &Path) -> Result<Vec<String>> {
    let mut cubin = std::fs::read(fixture("answer-sm_90.cubin")?)?;
    let at = {
        let file = object::File::parse(&*cubin)?;
        let mut sections =
            file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".text.")));
        sections.next().and_then(|section| section.file_range()).context("code")?.0 as usize
    };
    let mut names = Vec::new();
    for number in 0..COUNT {
        cubin[at..at + 8].copy_from_slice(&(number as u64).to_le_bytes());
        let name = format!("k{number}.cubin");
        std::fs::write(directory.join(&name), &cubin)?;
        names.push(name);
    }
    Ok(names)
}

fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    Ok((run()?, start.elapsed()))
}

/// Returns the bytes from each start to its end, and the values of absolute symbols; nothing for the ends.
fn symbols(path: &Path) -> Result<Symbols> {
    let bytes = std::fs::read(path)?;
    let file = object::File::parse(&*bytes)?;
    let global = file.symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined());
    let global: BTreeMap<&str, _> = global.filter_map(|symbol| Some((symbol.name().ok()?, symbol))).collect();
    let mut symbols = Symbols::new();
    for (name, symbol) in &global {
        let value = match (symbol.section(), name.strip_suffix("_start")) {
            (SymbolSection::Absolute, _) => symbol.address().to_le_bytes().to_vec(),
            (SymbolSection::Section(section), Some(stem)) => {
                let end = global.get(format!("{stem}_end").as_str()).with_context(|| format!("{name}: no end"))?;
                let (section, start) = (file.section_by_index(section)?, symbol.address());
                section.data_range(start, end.address() - start)?.context("inside of the section")?.to_vec()
            }
            _ => Vec::new(),
        };
        symbols.insert((*name).to_owned(), value);
    }
    Ok(symbols)
}

/// Returns the first names that differ.
fn difference(one: &Symbols, other: &Symbols) -> Vec<String> {
    one.iter().filter(|(name, bytes)| other.get(*name) != Some(bytes)).map(|(name, _)| name.clone()).take(3).collect()
}

/// A program in C++ refers to embedded files in namespaces through the header, for the names of Itanium's ABI and Microsoft's.
pub fn names_of_cpp_are_those_of_the_compiler(directory: &Path) -> Result<()> {
    super::Files::write(directory)?;
    let program =
        "#include \"files.h\"\nconst void *p[] = {a::v1::kernel, a::v1::kernel_end, &a::v1::kernel_size, v::v::v};\n";
    std::fs::write(directory.join("use.cc"), program)?;
    for host in ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "x86_64-w64-windows-gnu", "arm64-apple-macosx"] {
        let step = fatbin(directory).args(["embed", "--host", host, "-o", "files.o", "--header", "files.h"]);
        step.args(["-s", "a::v1::kernel=kernel", "-s", "v::v::v=text"]).run()?;
        let step =
            Step::new(directory, Tool::Clang.path()?).args(["-I.", "-ffreestanding", "-c", "use.cc", "-o", "use.o"]);
        step.arg(format!("--target={host}")).run()?;
        let [defined, referenced] = ["files.o", "use.o"].map(|name| directory.join(name));
        let defined = names(&defined, |symbol| symbol.is_global() && symbol.is_definition())?;
        let referenced = names(&referenced, |symbol| symbol.is_undefined())?;
        ensure!(referenced.len() == 4, "{host}: {referenced:?}");
        ensure!(referenced.iter().all(|name| defined.contains(name)), "{host}: {referenced:?} in {defined:?}");
    }
    Ok(())
}

fn names(path: &Path, is_listed: impl Fn(&object::Symbol<'_, '_>) -> bool) -> Result<Vec<String>> {
    let bytes = std::fs::read(path)?;
    let file = object::File::parse(&*bytes)?;
    let symbols = file.symbols().filter(is_listed).filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    Ok(symbols.filter(|name| !name.is_empty()).collect())
}
