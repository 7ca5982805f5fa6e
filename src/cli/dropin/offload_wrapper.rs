//! clang-offload-wrapper (LLVM 10 to 15, and AMD's variant) and llvm-offload-wrapper (LLVM 21 on).
//!
//! The one divergence: they write LLVM IR, which then has to be compiled; this writes the object that comes of it. Whoever
//! passes the output on to `clang -c` or `llc` leaves that step out.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::llvm_options::{LlvmOption, Parsed, help, parse};
use crate::ops::{self, ImageFile, WrapOptions};
use crate::target::OffloadKind;
use crate::wrap::abi::Generation;
use crate::wrap::{Form, Stated};

static CLANG_OPTIONS: [LlvmOption; 6] = [
    LlvmOption { name: "help", value: None, help: "Display available options" },
    LlvmOption { name: "version", value: None, help: "Display the version of this program" },
    LlvmOption { name: "o", value: Some("filename"), help: "Output filename (an object, ready to be linked)" },
    LlvmOption { name: "target", value: Some("triple"), help: "Target triple for the output" },
    LlvmOption {
        name: "offload-arch",
        value: Some("target id"),
        help: "Target id of an image, in the order of the inputs; makes the output register it (AMD's variant)",
    },
    LlvmOption { name: "add-omp-offload-notes", value: None, help: "Add ELF notes to the images" },
];

static LLVM_OPTIONS: [LlvmOption; 5] = [
    LlvmOption { name: "help", value: None, help: "Display available options" },
    LlvmOption { name: "version", value: None, help: "Display the version of this program" },
    LlvmOption { name: "kind", value: Some("value"), help: "Wrap for offload kind: openmp, cuda or hip" },
    LlvmOption { name: "o", value: Some("file"), help: "Write output to <file> (an object, ready to be linked)" },
    LlvmOption { name: "triple", value: Some("string"), help: "Target triple for the wrapper" },
];

/// The exit status of a run that failed, as LLVM's tools have it.
const FAILED: u8 = 1;

/// Runs as clang-offload-wrapper.
pub fn clang(program: &OsStr, release: Option<u32>, arguments: &[OsString]) -> u8 {
    let overview = "Takes device images and makes an object that registers them in the OpenMP runtime.";
    run(program, &CLANG_OPTIONS, overview, arguments, |parsed| {
        let target_ids: Vec<String> = parsed.all("offload-arch").map(|id| id.to_string_lossy().into_owned()).collect();
        if !target_ids.is_empty() && target_ids.len() != parsed.inputs.len() {
            return Err(format!("{} --offload-arch for {} inputs", target_ids.len(), parsed.inputs.len()));
        }
        // The tool of LLVM 15 still makes what that of 14 did. Only AMD's compiler has ever known target ids here.
        let abi = match (target_ids.is_empty(), release) {
            (false, _) => "aomp".to_owned(),
            (true, Some(release @ 10..=13)) => format!("llvm{release}"),
            (true, _) => "llvm14".to_owned(),
        };
        options(parsed, OffloadKind::OpenMp, &abi, parsed.value("target"), &target_ids)
    })
}

/// Runs as llvm-offload-wrapper.
pub fn llvm(program: &OsStr, release: Option<u32>, arguments: &[OsString]) -> u8 {
    let overview = "Generate runtime registration code for a device binary image";
    run(program, &LLVM_OPTIONS, overview, arguments, |parsed| {
        let kind = parsed.value("kind").ok_or("for the --kind option: must be specified at least once!")?;
        let kind = match kind.to_str() {
            Some("openmp") => OffloadKind::OpenMp,
            Some("cuda") => OffloadKind::Cuda,
            Some("hip") => OffloadKind::Hip,
            _ => return Err(format!("for the --kind option: Cannot find option named '{}'!", kind.to_string_lossy())),
        };
        if kind != OffloadKind::OpenMp && parsed.inputs.len() > 1 {
            return Err("error: CUDA / HIP offloading uses a single fatbinary or offload bundle".to_owned());
        }
        let abi = release.map(|release| format!("llvm{release}")).filter(|name| Generation::named(name).is_some());
        options(parsed, kind, abi.as_deref().unwrap_or("llvm22"), parsed.value("triple"), &[])
    })
}

fn run(
    program: &OsStr,
    known: &'static [LlvmOption],
    overview: &str,
    arguments: &[OsString],
    options: impl FnOnce(&Parsed) -> Result<WrapOptions, String>,
) -> u8 {
    let name = program.to_string_lossy();
    let parsed = match parse(program, known, arguments) {
        Ok(parsed) => parsed,
        Err(message) => {
            eprintln!("{name}: {message}");
            return FAILED;
        }
    };
    if parsed.has("help") {
        print!("{}", help(overview, program, "[options] <input files>", known));
        return 0;
    }
    if parsed.has("version") {
        println!("fatbin {} in place of {name}", env!("CARGO_PKG_VERSION"));
        return 0;
    }
    let wrapped = options(&parsed).and_then(|options| ops::wrap(&options).map_err(|error| format!("error: {error}")));
    match wrapped {
        Ok(_) => 0,
        Err(message) => {
            eprintln!("{name}: {message}");
            FAILED
        }
    }
}

fn options(
    parsed: &Parsed,
    kind: OffloadKind,
    abi: &str,
    host: Option<&OsStr>,
    target_ids: &[String],
) -> Result<WrapOptions, String> {
    if parsed.inputs.is_empty() {
        return Err("Not enough positional command line arguments specified!".to_owned());
    }
    let output = parsed.value("o").map(PathBuf::from).ok_or("error: no output file; name one with -o")?;
    let images = parsed.inputs.iter().enumerate().map(|(index, path)| {
        let stated = Stated { triple: None, arch: target_ids.get(index).cloned() };
        ImageFile { path: path.into(), stated }
    });
    Ok(WrapOptions {
        abi: Generation::named(abi),
        host: host.map(|host| host.to_string_lossy().into_owned()),
        // The tools embed whatever they are given.
        form: if parsed.has("add-omp-offload-notes") { Form::RawWithNotes } else { Form::Raw },
        ..WrapOptions::new(kind, images.collect(), output)
    })
}
