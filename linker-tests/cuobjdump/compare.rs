//! Lists, extraction and dumps of files that NVIDIA's tools write, and mistakes.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{pair, same};
use crate::dropin::Call;
use crate::fatbinary::cubins;
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Containers: name, and arguments of fatbinary. `elf:S` and `ptx:S` are images for `sm_S`.
const CONTAINERS: [(&str, &str); 9] = [
    ("all", "--cmdline=-v elf:75 elf:90a elf:100f ptx:90 elf:100a ptx:100f"),
    ("group", "--concat --compress-all --cmdline=-v ptx:90 elf:75 elf:90a elf:100f"),
    ("group-ident", "--concat --compress-all -g --ident=src/a.cu ptx:90 elf:75 elf:90a"),
    ("ident", "--ident=src/dir/a~name.x.cu elf:90 ptx:90 elf:75"),
    ("speed", "-g --compress-mode=speed elf:90 ptx:90"),
    ("rdc", "-c --cmdline=--compile-only~~ elf:90 ptx:120"),
    ("lto", "--cicc-cmdline=-ftz=0~ nvvm:90 elf:90"),
    ("many", "--ident=many.cu elf:many ptx:90"),
    ("empty", ""),
];

/// Objects: name, and pairs of a section and its contents.
const OBJECTS: [(&str, &[(&str, &str)]); 5] = [
    ("plain", &[(".nv_fatbin", "all")]),
    ("both", &[("__nv_relfatbin", "rdc"), (".nv_fatbin", "speed")]),
    ("relocatable", &[("__nv_relfatbin", "rdc")]),
    ("two", &[(".nv_fatbin", "all"), (".nv_fatbin", "ident")]),
    ("host", &[]),
];

const ARCHIVES: [(&str, &[&str]); 4] = [
    ("lib.a", &["plain.o", "host.o", "both.o", "relocatable.o", "two.o"]),
    ("host.a", &["host.o"]),
    ("long.a", &["an object with a long name.o", "plain.o"]),
    ("none.a", &[]),
];

/// Cubins without a container, whose number the tool does not compare with `-arch`.
const CUBINS: [&str; 5] = ["sm_75.cubin", "sm_90a.cubin", "sm_100f.cubin", "many.cubin", "many-c.cubin"];

/// Files of other kinds.
const OTHERS: [&str; 3] = ["sm_90.ptx", "text", "no"];

const LISTS: [&str; 30] = [
    "",
    "-lelf",
    "-lptx",
    "-lelf -lptx",
    "-lptx -all -lelf",
    "-all",
    "-all -lelf -lptx -res-usage -sass",
    "-arch sm_90",
    "-arch sm_75 -lelf -lptx",
    "-arch=sm_100f -lelf -lptx",
    "--gpu-architecture=sm_120 -all -lptx -arch sm_120",
    "-res-usage",
    "-symbols",
    "-ptx",
    "-res-usage -symbols -ptx -all",
    "-res-usage -fun leaf,memory",
    "-res-usage -fun answer_kernel -fun nothing",
    "-res-usage -findex 3",
    "-symbols -fun nothing",
    "-ltext",
    "-ltext -lptx",
    "-ltext -lelf",
    "-xelf all",
    "-xptx all -lelf",
    "-xelf all -xptx all",
    "-xelf sm_90,100",
    "-xelf ALL",
    "-xelf=",
    "-xptx 1 -arch sm_90",
    "-xtext memory",
];

const MISTAKES: [&str; 24] = [
    "",
    "../all ../all",
    "-lelf",
    "-h ../all",
    "--help",
    "-bogus ../all",
    "--bogus ../all",
    "-- ../all",
    "-arch",
    "-arch sm_70 ../all",
    "-arch 90 ../all",
    "-arch sm_90,sm_75 ../all",
    "-arch sm_90 -arch sm_75 -lelf ../all",
    "-lelf=x ../all",
    "-ltext x ../all",
    "-xelf",
    "-xelf \"a ../all",
    "-findex x ../all",
    "-findex -1 -res-usage ../all",
    "-res-usage -findex 3,9 ../all",
    "../nothing",
    "-lelf ..",
    "-optf ../nothing ../all",
    "-",
];

/// Writes containers, objects and archives.
pub fn prepare(directory: &Path) -> Result<()> {
    cubins(directory)?;
    many(directory)?;
    let lto_ir = fixture("answer-sm_90.ltoir")?;
    std::fs::copy(lto_ir, directory.join("sm_90.ltoir"))?;
    std::fs::write(directory.join("text"), "text")?;
    std::fs::write(directory.join("no"), "")?;
    for (name, arguments) in CONTAINERS {
        let arguments = arguments.split_whitespace().map(argument);
        Step::new(directory, Tool::Fatbinary.path()?).arg(format!("--create={name}")).args(arguments).run()?;
    }
    for (name, sections) in OBJECTS {
        object(directory, name, sections)?;
    }
    std::fs::copy(directory.join("plain.o"), directory.join("an object with a long name.o"))?;
    for (name, members) in ARCHIVES {
        Step::new(directory, Tool::Ar.path()?).args(["rc", name]).args(members).run()?;
    }
    Ok(())
}

fn argument(word: &str) -> String {
    let kinds = [("elf", "cubin"), ("ptx", "ptx"), ("nvvm", "ltoir")];
    let image = |(kind, extension): &(&str, &str)| {
        let arch = word.strip_prefix(kind)?.strip_prefix(':')?;
        let (sm, stem) = if arch == "many" { ("75", "many".to_owned()) } else { (arch, format!("sm_{arch}")) };
        Some(format!("--image3=kind={kind},sm={sm},file={stem}.{extension}"))
    };
    kinds.iter().find_map(image).unwrap_or_else(|| word.replace('~', " "))
}

/// Compiles kernels with functions, recursion, and memory of all kinds, linked and to be linked.
fn many(directory: &Path) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cuobjdump/kernels.ptx");
    for (output, options) in [("many.cubin", &[][..]), ("many-c.cubin", &["-c"])] {
        let step = Step::new(directory, Tool::Ptxas.path()?).args(options);
        step.args(["-arch=sm_75", "-o", output]).arg(&source).run()?;
    }
    Ok(())
}

/// Writes an object with files in sections.
pub fn object(directory: &Path, name: &str, sections: &[(&str, &str)]) -> Result<()> {
    let lines = sections
        .iter()
        .map(|(section, file)| format!(".section {section}, \"a\", @progbits\n.balign 8\n.incbin \"{file}\"\n"));
    std::fs::write(directory.join(format!("{name}.s")), lines.collect::<String>())?;
    let (source, output) = (format!("{name}.s"), format!("{name}.o"));
    Step::new(directory, Tool::Cc.path()?).args(["-c", &source, "-o", &output]).run()?;
    Ok(())
}

/// Both programs print and write the same for each file and each list of options.
pub fn options(directory: &Path) -> Result<()> {
    prepare(directory)?;
    let pair = pair(directory)?;
    let containers = CONTAINERS.iter().map(|(name, _)| (*name).to_owned());
    let objects = OBJECTS.iter().map(|(name, _)| format!("{name}.o"));
    let archives = ARCHIVES.iter().map(|(name, _)| (*name).to_owned());
    for file in containers.chain(objects).chain(archives).chain(OTHERS.map(str::to_owned)) {
        same(&pair, &file, &LISTS)?;
    }
    let lists: Vec<&str> = LISTS.into_iter().filter(|list| !list.contains("-arch")).collect();
    CUBINS.iter().try_for_each(|file| same(&pair, file, &lists))
}

/// Both programs answer mistakes with equal messages and statuses.
pub fn mistakes(directory: &Path) -> Result<()> {
    prepare(directory)?;
    let pair = pair(directory)?;
    for line in MISTAKES {
        let result = pair.same(&Call::line(line))?;
        ensure!(!result.out.is_empty() || !result.err.is_empty(), "{line}: {result:?}");
    }
    Ok(())
}
