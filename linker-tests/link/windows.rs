//! `fatbin link` for Windows: a program that clang compiled, with device code in COFF objects, linked by lld-link and
//! by MinGW-w64, and run. Several wrapper objects can be linked together, which LLVM's do not allow.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::fatbin;
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::Tool;
use crate::harness::wine::{import_library, wine};

const MSVC: &str = "x86_64-pc-windows-msvc";
const GNU: &str = "x86_64-w64-windows-gnu";

/// A kernel and a variable of HIP, without HIP's headers, and the functions that a launch would call.
const PROGRAM: &str = r#"
typedef struct { unsigned x, y, z; } dim3;
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long long, void *) { return 0; }
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long long *, void *) { return 0; }
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long long, void *) { return 0; }
__attribute__((global)) void answer(int *p) { *p = 42; }
__attribute__((device)) int counter;
extern "C" { int used; }
"#;

pub fn msvc(directory: &Path) -> Result<()> {
    links_device_code(directory, MSVC)
}

pub fn gnu(directory: &Path) -> Result<()> {
    links_device_code(directory, GNU)
}

fn links_device_code(directory: &Path, triple: &str) -> Result<()> {
    compile_common(directory, triple)?;
    compile_program(directory, triple)?;
    let (linker, options) = link_line(triple, directory)?;
    let step = fatbin(directory).args(["link", "--host", triple, "--"]).arg(linker).args(options);
    step.args(["main.o", "cell.o", "program.o", "judge.o"]).run()?;
    log_with(directory, &REGISTRATION)?;
    Ok(())
}

/// What the program prints if its device code is registered.
const REGISTRATION: [&str; 3] =
    ["hip-amdgcn-amd-amdhsa--gfx90a, 3456 bytes", "device \"_Z6answerPi\"", "device \"counter\""];

/// Compiles a program with device code.
fn compile_program(directory: &Path, triple: &str) -> Result<()> {
    let image = fixture("answer-gfx90a.hsaco")?;
    let image = format!("file={},kind=hip,arch=gfx90a,triple=amdgcn-amd-amdhsa", image.display());
    fatbin(directory).args(["pack", "-o", "device", "--image", &image]).run()?;
    std::fs::write(directory.join("program.hip"), PROGRAM)?;
    let step = Step::new(directory, Tool::Clang.path()?).arg(format!("--target={triple}"));
    let step = step.args(["-x", "hip", "-nogpuinc", "-nogpulib", "--offload-new-driver", "--offload-host-only"]);
    let step = step.args(["-fgpu-rdc", "--offload-arch=gfx90a", "-Xclang", "-fembed-offload-object=device"]);
    step.args(["-c", "program.hip", "-o", "program.o"]).run().map(drop)
}

/// Lines of lld-link that name a library with device code in every way: the response file, and further words.
const LIBRARY_LINES: [(&str, &[&str]); 6] = [
    ("uses.o \"with device.lib\"", &[]),
    ("uses.o /libpath:. device.lib", &[]),
    ("uses.o /defaultlib:device.lib", &[]),
    ("/wholearchive:device.lib", &[]),
    ("uses.o", &["/defaultlib:device"]),
    // Only the linker finds this library.
    ("uses.o directive.o", &[]),
];

/// lld-link reads device code in a library, which a response file names.
pub fn response_files(directory: &Path) -> Result<()> {
    compile_common(directory, MSVC)?;
    compile_program(directory, MSVC)?;
    for (name, source) in [
        ("uses.c", "extern int used;\nint *uses = &used;\n"),
        ("directive.c", "#pragma comment(lib, \"device.lib\")\nint unused;\n"),
    ] {
        std::fs::write(directory.join(name), source)?;
        let step = Step::new(directory, Tool::Clang.path()?).arg(format!("--target={MSVC}"));
        step.args(["-ffreestanding", "-O1", "-c", name]).run()?;
    }
    for library in ["device.lib", "with device.lib"] {
        Step::new(directory, Tool::Ar.path()?).args(["rcs", library, "program.o"]).run()?;
    }
    let (linker, options) = link_line(MSVC, directory)?;
    for (response, further) in LIBRARY_LINES {
        let options: Vec<String> = options.iter().map(|option| format!("\"{}\"", option.display())).collect();
        let words = format!("{} main.o cell.o judge.o\r\n{response}\r\n", options.join(" "));
        std::fs::write(directory.join("words.rsp"), words)?;
        let _ = std::fs::remove_file(directory.join("program.exe"));
        let step = fatbin(directory).args(["link", "--host", MSVC, "--"]).arg(&linker).arg("@words.rsp");
        step.args(further).run()?;
        log_with(directory, &REGISTRATION)?;
    }
    Ok(())
}

/// lld-link 22 rejects two objects of LLVM 22, because both define the bounds of the entries, and one in a program without
/// entries, because it drops the bounds.
pub fn two_objects_without_entries(directory: &Path) -> Result<()> {
    compile_common(directory, MSVC)?;
    for abi in ["llvm22", "main"] {
        for kind in ["openmp", "hip"] {
            let step = fatbin(directory).args(["wrap", "--kind", kind, "--abi", abi, "--host", MSVC]);
            step.arg(fixture("answer-gfx90a.hsaco")?).args(["-o", &format!("{kind}.o")]).run()?;
        }
        let (linker, options) = link_line(MSVC, directory)?;
        Step::new(directory, linker).args(options).args(["main.o", "cell.o", "judge.o", "openmp.o", "hip.o"]).run()?;
        let calls =
            ["__tgt_register_lib", "__hipRegisterFatBinary", "__tgt_unregister_lib", "__hipUnregisterFatBinary"];
        let log = log_with(directory, &calls)?;
        // Main's bounds are entries of zeros. That of the other object is of no kind, and runtimes skip it.
        let is_entry = |line: &&str| line.contains("  entry ") && !line.contains("kind 0, ");
        let entry = log.lines().find(is_entry).or_else(|| log.lines().find(|line| line.contains("RegisterFunction")));
        ensure!(entry.is_none(), "{abi}: an entry in\n{log}");
    }
    Ok(())
}

/// Compiles the other parts that every program contains.
fn compile_common(directory: &Path, triple: &str) -> Result<()> {
    let matrix = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/matrix");
    let sources = [
        (matrix.join("main.c"), "main.o"),
        (matrix.join("program.c"), "cell.o"),
        (matrix.join("windows.c"), "runtime.o"),
        (fixture("judge.c")?, "judge.o"),
    ];
    for (source, object) in sources {
        let step = Step::new(directory, Tool::Clang.path()?).arg(format!("--target={triple}"));
        step.args(["-ffreestanding", "-O1", "-c"]).arg(source).args(["-o", object]).run()?;
    }
    Ok(())
}

/// Returns a linker and its options for `program.exe`: lld-link with the runtime of the matrix, or the compiler of MinGW-w64.
fn link_line(triple: &str, directory: &Path) -> Result<(PathBuf, Vec<PathBuf>)> {
    if triple != MSVC {
        return Ok((Tool::MingwCc.path()?, ["-o", "program.exe"].map(PathBuf::from).to_vec()));
    }
    let options = ["/entry:mainCRTStartup", "/subsystem:console", "/out:program.exe", "runtime.o"].map(PathBuf::from);
    Ok((Tool::LldLink.path()?, [options.to_vec(), vec![import_library(directory)?]].concat()))
}

/// Runs `program.exe`, and returns its output, which contains certain texts.
fn log_with(directory: &Path, expected: &[&str]) -> Result<String> {
    let run = wine(directory, &directory.join("program.exe"), &[])?;
    ensure!(run.status.success(), "{run:?}");
    // The judge prints what is at the address of a kernel: code.
    let log = String::from_utf8_lossy(&run.stdout).into_owned();
    for text in expected {
        ensure!(log.contains(text), "no {text} in\n{log}");
    }
    Ok(log)
}
