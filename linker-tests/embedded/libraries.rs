//! Libraries with images in arrays, and libraries full of hints without any image.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use object::{Object, ObjectSymbol};

use super::scanned;
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::tools::{Missing, fetched, find_in, llvm_directory, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// A library and its images: name of the trial, directory and file, number of images, and their kind.
struct Library {
    name: &'static str,
    directory: &'static str,
    file: &'static str,
    images: usize,
    kind: &'static str,
}

/// AMD's runtime has the code of its trap handlers and blits for each processor; AMD's compiler has its device libraries;
/// llama.cpp has a shader for each operation and type.
const LIBRARIES: [Library; 3] = [
    Library { name: "hsa", directory: "hip-5", file: "libhsa-runtime64.so", images: 29, kind: "elf" },
    Library { name: "comgr", directory: "hip-5", file: "libamd_comgr.so", images: 51, kind: "bitcode" },
    Library { name: "vulkan", directory: "vulkan", file: "libggml-vulkan.so", images: 1499, kind: "spirv" },
];

/// Libraries without any image, and packages: compilers for devices contain all hints, in code and in tables.
const WITHOUT: [(&str, &str); 2] = [("libclang-cpp.so.22", "libclang-cpp22"), ("libLTO.so.22", "llvm-22")];

pub fn trials() -> Vec<Trial> {
    let libraries = LIBRARIES.iter().map(|library| {
        Trial::ignorable_test(format!("embedded/libraries/{}", library.name), || {
            completion(fresh_directory("embedded", library.name).and_then(|it| holds_images(&it, library)))
        })
    });
    let without = WITHOUT.iter().map(|&(file, package)| {
        Trial::ignorable_test(format!("embedded/without/{file}"), move || completion(holds_none(file, package)))
    });
    libraries.chain(without).collect()
}

fn holds_images(directory: &Path, library: &Library) -> Result<()> {
    let found = find_in(&fetched(library.directory), library.file);
    let path = found.ok_or_else(|| not_fetched(library.file))?.canonicalize()?;
    let (images, done) = scanned(directory, &path, &[])?;
    let count = images.iter().filter(|image| image.image == library.kind && !image.is_estimated).count();
    ensure!((images.len(), count) == (library.images, library.images), "{}", done.error(format!("{count} images")));
    let bytes = std::fs::read(&path)?;
    let object = object::File::parse(&*bytes)?;
    // Where the library has symbols, each image is as large as its array.
    if object.symbols().next().is_none() {
        return Ok(());
    }
    for image in images {
        let name = image.symbol.with_context(|| done.error("an image without a symbol").to_string())?;
        let symbol = object.symbols().find(|symbol| symbol.name() == Ok(&name)).context("no such symbol")?;
        ensure!(symbol.size() == image.size, "{name}: {} bytes, the array has {}", image.size, symbol.size());
    }
    let (by_symbols, done) = scanned(directory, &path, &["--fast"])?;
    ensure!(by_symbols.len() == library.images, "{}", done.error("other images by symbols"));
    Ok(())
}

fn holds_none(file: &str, package: &str) -> Result<()> {
    let path = find_in(&llvm_directory().join("lib"), file).ok_or_else(|| Missing::new(file, package))?;
    let run = command(fatbin_program()).arg("scan").arg(&path).output()?;
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    ensure!(run.status.code() == Some(1) && err.lines().count() == 1, "{}: {out}{err}", run.status);
    ensure!(err.ends_with(": no device images\n"), "{out}{err}");
    Ok(())
}
