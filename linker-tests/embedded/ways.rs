//! Every way that tools embed images: the same bytes are found in the object, in the linked library, and in the
//! stripped one.
//!
//! The commands come from the projects: PyTorch's AOTInductor, TensorRT-LLM's `TLLM_INCBIN`, tvm-ffi's `embed_cubin`,
//! Triton's and bin2c's arrays, `#embed`, and Rust's macros.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{extracts, scanned};
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// The images, as files of the directory of a trial.
const IMAGES: [&str; 3] = ["k-90.cubin", "code.hsaco", "k.ptx"];
const FIXTURES: [&str; 3] = ["answer-sm_90.cubin", "answer-gfx90a.hsaco", "answer-sm_80.ptx"];

/// A way to embed the images: builds a file, and returns its name.
struct Way {
    name: &'static str,
    build: fn(&Path) -> Result<&'static str>,
    /// Symbols in the linked file, in the order of the images; none where the way has no symbols.
    symbols: Option<[&'static str; 3]>,
}

const BINARY: Option<[&str; 3]> = Some(["_binary_k_90_cubin_start", "_binary_code_hsaco_start", "_binary_k_ptx_start"]);
const ARRAYS: Option<[&str; 3]> = Some(["k_90_cubin", "code_hsaco", "k_ptx"]);

const WAYS: [Way; 13] = [
    Way { name: "ld-binary", build: ld_binary, symbols: BINARY },
    Way { name: "lld-binary", build: lld_binary, symbols: BINARY },
    Way { name: "objcopy", build: objcopy, symbols: BINARY },
    Way { name: "llvm-objcopy", build: llvm_objcopy, symbols: BINARY },
    Way {
        name: "aot-inductor",
        build: aot_inductor,
        symbols: Some(["__k_90_cubin_start", "__code_hsaco_start", "__k_ptx_start"]),
    },
    Way { name: "incbin", build: incbin, symbols: ARRAYS },
    Way { name: "tvm-ffi", build: tvm_ffi, symbols: ARRAYS },
    Way { name: "gcc-arrays", build: gcc_arrays, symbols: ARRAYS },
    Way { name: "clang-arrays", build: clang_arrays, symbols: ARRAYS },
    Way { name: "clang-embed", build: clang_embed, symbols: ARRAYS },
    Way { name: "large-model", build: large_model, symbols: ARRAYS },
    Way { name: "mingw", build: mingw, symbols: None },
    Way { name: "rust", build: rust, symbols: None },
];

pub fn trials() -> Vec<Trial> {
    let ways = WAYS.iter().map(|way| {
        Trial::ignorable_test(format!("embedded/ways/{}", way.name), || {
            completion(prepared(way.name).and_then(|directory| finds_the_images(&directory, way)))
        })
    });
    let mach_o = Trial::ignorable_test("embedded/ways/mach-o", || {
        completion(prepared("mach-o").and_then(|directory| finds_in_mach_o(&directory)))
    });
    ways.chain([mach_o]).collect()
}

/// Returns a directory with the images. PTX is a C string: a NUL ends it.
fn prepared(name: &str) -> Result<PathBuf> {
    let directory = fresh_directory("embedded-ways", name)?;
    for (image, fixture) in IMAGES.iter().zip(FIXTURES) {
        std::fs::copy(format!("{}/fixtures/{fixture}", env!("CARGO_MANIFEST_DIR")), directory.join(image))?;
    }
    Ok(directory)
}

fn finds_the_images(directory: &Path, way: &Way) -> Result<()> {
    let file = (way.build)(directory)?;
    check(directory, file, way.symbols)?;
    let strip = in_path("strip").ok_or_else(|| Missing::new("strip", "binutils"))?;
    Step::new(directory, strip).args(["-o", "stripped", file]).run()?;
    let (images, done) = scanned(directory, Path::new("stripped"), &[])?;
    ensure!(images.len() == IMAGES.len(), "{}", done.error("other images after strip"));
    if way.name == "tvm-ffi" {
        // The names belong to the exported symbols for sizes.
        let names: Vec<_> = images.iter().filter_map(|image| image.symbol.as_deref()).collect();
        ensure!(
            names == ["_binary_k_90_cubin", "_binary_code_hsaco", "_binary_k_ptx"],
            "{}",
            done.error("other names")
        );
    }
    extracts(directory, Path::new("stripped"), &IMAGES)
}

fn check(directory: &Path, file: &str, symbols: Option<[&str; 3]>) -> Result<()> {
    let (images, done) = scanned(directory, Path::new(file), &[])?;
    ensure!(images.len() == IMAGES.len(), "{}", done.error(format!("{} images", images.len())));
    ensure!(images.iter().all(|image| image.section.is_some()), "{}", done.error("an image without a section"));
    for (arch, kind) in [("sm_90", "elf"), ("gfx90a", "elf"), ("sm_80", "ptx")] {
        let is_it = |image: &&super::Found| image.arch.as_deref() == Some(arch) && image.image == kind;
        ensure!(images.iter().filter(is_it).count() == 1, "{}", done.error(format!("no {kind} for {arch}")));
    }
    if let Some(symbols) = symbols {
        for symbol in symbols {
            let has_it = images.iter().any(|image| image.symbol.as_deref() == Some(symbol));
            ensure!(has_it, "{}", done.error(format!("no image at {symbol}")));
        }
        let (by_symbols, done) = scanned(directory, Path::new(file), &["--fast"])?;
        ensure!(by_symbols.len() == IMAGES.len(), "{}", done.error("other images with --fast"));
    }
    extracts(directory, Path::new(file), &IMAGES)
}

/// Links objects to a library.
fn linked(directory: &Path, objects: &[&str]) -> Result<&'static str> {
    Step::new(directory, Tool::Cc.path()?).args(["-shared", "-o", "lib.so"]).args(objects).run()?;
    Ok("lib.so")
}

/// Returns the name of an image in symbols of C.
fn symbol(image: &str) -> String {
    image.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

fn binary(directory: &Path, linker: &Path) -> Result<&'static str> {
    Step::new(directory, linker)
        .args(["-r", "-b", "binary", "-z", "noexecstack", "-o", "data.o"])
        .args(IMAGES)
        .run()?;
    linked(directory, &["data.o"])
}

fn ld_binary(directory: &Path) -> Result<&'static str> {
    binary(directory, &Tool::Bfd.path()?)
}

fn lld_binary(directory: &Path) -> Result<&'static str> {
    Step::new(directory, Tool::Lld.path()?)
        .args(["-r", "-m", "elf_x86_64", "-b", "binary", "-o", "data.o"])
        .args(IMAGES)
        .run()?;
    linked(directory, &["data.o"])
}

fn copied(directory: &Path, objcopy: &Path) -> Result<&'static str> {
    let mut objects = Vec::new();
    for image in IMAGES {
        let object = format!("{image}.o");
        Step::new(directory, objcopy).args(["-I", "binary", "-O", "elf64-x86-64", image, &object]).run()?;
        objects.push(object);
    }
    linked(directory, &objects.iter().map(String::as_str).collect::<Vec<_>>())
}

fn gnu_objcopy() -> Result<PathBuf> {
    Ok(in_path("objcopy").ok_or_else(|| Missing::new("objcopy", "binutils"))?)
}

fn objcopy(directory: &Path) -> Result<&'static str> {
    copied(directory, &gnu_objcopy()?)
}

fn llvm_objcopy(directory: &Path) -> Result<&'static str> {
    copied(directory, &Tool::Objcopy.path()?)
}

/// PyTorch's AOTInductor: read-only data and symbols of the kernel's name.
fn aot_inductor(directory: &Path) -> Result<&'static str> {
    let mut objects = Vec::new();
    for image in IMAGES {
        let (object, name) = (format!("{image}.o"), symbol(image));
        Step::new(directory, Tool::Bfd.path()?)
            .args(["-r", "-b", "binary", "-z", "noexecstack", "-o", &object, image])
            .run()?;
        let renamed = ["start", "end", "size"].map(|end| format!("--redefine-sym=_binary_{name}_{end}=__{name}_{end}"));
        Step::new(directory, gnu_objcopy()?)
            .arg("--rename-section=.data=.rodata,alloc,load,readonly,data,contents")
            .args(renamed)
            .arg(&object)
            .run()?;
        objects.push(object);
    }
    linked(directory, &objects.iter().map(String::as_str).collect::<Vec<_>>())
}

/// TensorRT-LLM: separate sections, and the size behind the data.
fn incbin(directory: &Path) -> Result<&'static str> {
    let mut text = String::new();
    for image in IMAGES {
        let name = symbol(image);
        writeln!(
            text,
            ".section .rodata.tllm_incbin.{name}, \"a\"\n.balign 64\n.global {name}\n.type {name}, @object\n{name}:\n\
             .incbin \"{image}\"\n.global {name}_end\n{name}_end:\n.balign 4\n.global {name}_len\n{name}_len:\n\
             .long {name}_end - {name}"
        )?;
    }
    text += ".section .note.GNU-stack, \"\", @progbits\n";
    std::fs::write(directory.join("data.s"), text)?;
    Step::new(directory, Tool::Cc.path()?).args(["-c", "data.s"]).run()?;
    linked(directory, &["data.o"])
}

/// tvm-ffi: merged into the object of the program, with local symbols, at any offset.
fn tvm_ffi(directory: &Path) -> Result<&'static str> {
    std::fs::write(directory.join("host.c"), "const char text[] = \"odd\";\nint main(void) { return text[0]; }\n")?;
    Step::new(directory, Tool::Cc.path()?).args(["-c", "-fPIC", "host.c"]).run()?;
    Step::new(directory, Tool::Bfd.path()?).args(["-r", "-b", "binary", "-o", "data.o"]).args(IMAGES).run()?;
    let names = IMAGES.map(symbol);
    let renamed = names.iter().flat_map(|name| {
        [("start", ""), ("end", "_end")].map(|(old, new)| format!("--redefine-sym=_binary_{name}_{old}={name}{new}"))
    });
    let local = names.iter().flat_map(|name| ["", "_end"].map(|end| format!("--localize-symbol={name}{end}")));
    Step::new(directory, gnu_objcopy()?)
        .arg("--rename-section=.data=.rodata,alloc,load,readonly,data,contents")
        .args(renamed)
        .arg("data.o")
        .run()?;
    Step::new(directory, Tool::Bfd.path()?)
        .args(["-r", "-z", "noexecstack", "-o", "all.o", "host.o", "data.o"])
        .run()?;
    Step::new(directory, gnu_objcopy()?).args(local).arg("all.o").run()?;
    linked(directory, &["all.o"])
}

/// Writes a C file with an array for each image; PTX is a string.
fn write_arrays(directory: &Path) -> Result<()> {
    let mut text = String::new();
    for image in IMAGES {
        let mut bytes = std::fs::read(directory.join(image))?;
        if image == "k.ptx" {
            bytes.push(0);
        }
        let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
        writeln!(text, "const unsigned char {}[] = {{{}}};", symbol(image), list.join(","))?;
    }
    Ok(std::fs::write(directory.join("data.c"), text)?)
}

fn arrays(directory: &Path, compiler: &Path, options: &[&str]) -> Result<&'static str> {
    write_arrays(directory)?;
    Step::new(directory, compiler).args(["-c", "-fPIC", "data.c"]).args(options).run()?;
    linked(directory, &["data.o"])
}

fn gcc_arrays(directory: &Path) -> Result<&'static str> {
    arrays(directory, &Tool::Cc.path()?, &[])
}

fn clang_arrays(directory: &Path) -> Result<&'static str> {
    arrays(directory, &Tool::Clang.path()?, &[])
}

/// `#embed` of C23, and arrays that are not constant.
fn clang_embed(directory: &Path) -> Result<&'static str> {
    let mut text = String::new();
    for image in IMAGES {
        writeln!(text, "unsigned char {}[] = {{\n#embed \"{image}\"\n, 0}};", symbol(image))?;
    }
    std::fs::write(directory.join("data.c"), text)?;
    Step::new(directory, Tool::Clang.path()?).args(["-std=c23", "-c", "-fPIC", "data.c"]).run()?;
    linked(directory, &["data.o"])
}

/// The medium model: arrays are in sections for large data.
fn large_model(directory: &Path) -> Result<&'static str> {
    let options = ["-mcmodel=medium", "-mlarge-data-threshold=1000"];
    arrays(directory, &Tool::Cc.path()?, &options)
}

fn mingw(directory: &Path) -> Result<&'static str> {
    write_arrays(directory)?;
    let mut text = std::fs::read_to_string(directory.join("data.c"))?;
    text += "__declspec(dllexport) const void *const images[] = {k_90_cubin, code_hsaco, k_ptx};\n";
    std::fs::write(directory.join("data.c"), text)?;
    Step::new(directory, Tool::MingwCc.path()?).args(["-shared", "-o", "images.dll", "data.c"]).run()?;
    Ok("images.dll")
}

/// Rust: arrays without symbols and alignment, and text without a NUL.
fn rust(directory: &Path) -> Result<&'static str> {
    let rustc = in_path("rustc").ok_or_else(|| Missing::by("rustc", "rustup"))?;
    let source = r#"
        static CUBIN: &[u8] = include_bytes!("k-90.cubin");
        static CODE: &[u8] = include_bytes!("code.hsaco");
        static TEXT: &str = include_str!("k.ptx");
        fn main() {
            println!("{} {} {}", CUBIN.len(), CODE[std::env::args().count()], TEXT);
        }
    "#;
    std::fs::write(directory.join("main.rs"), source)?;
    Step::new(directory, rustc).args(["--edition", "2024", "-o", "program", "main.rs"]).run()?;
    Ok("program")
}

fn finds_in_mach_o(directory: &Path) -> Result<()> {
    write_arrays(directory)?;
    let target = ["-target", "arm64-apple-macosx13"];
    Step::new(directory, Tool::Clang.path()?).args(target).args(["-c", "data.c"]).run()?;
    check(directory, "data.o", ARRAYS)?;
    let options =
        ["-dylib", "-arch", "arm64", "-platform_version", "macos", "13", "13", "-o", "images.dylib", "data.o"];
    Step::new(directory, Tool::Ld64Lld.path()?).args(options).run()?;
    check(directory, "images.dylib", ARRAYS)
}
