//! Images that a runtime receives when the program starts.

use std::path::PathBuf;

use super::environment::{Directives, Environment};
use super::error::BuildError;
use super::fail;
use super::library::write_library;
use crate::embed::llvm::Release;
use crate::embed::wrap::files::{ImageFile, WrapOptions, wrap};
use crate::embed::wrap::{OffloadEntry, TargetOverride};
use fatbin_core::target::OffloadKind;

/// Linker modifier that keeps the constructor, although nothing refers to it.
const WHOLE_ARCHIVE: &str = ":+whole-archive";

/// Device images that are registered with a runtime when the program or library that contains them is loaded.
///
/// ```no_run
/// use fatbin::OffloadKind;
/// use fatbin::embed::RegisteredImages;
///
/// // `saxpy_region` is a `#[unsafe(no_mangle)] static` of the program, whose address identifies the kernel.
/// RegisteredImages::new(OffloadKind::OpenMp)
///     .image("kernels/saxpy-x86_64.so")
///     .image("kernels/saxpy-gfx90a.hsaco")
///     .kernel("saxpy", "saxpy_region")
///     .compile("kernels");
/// ```
#[derive(Debug, Clone)]
pub struct RegisteredImages {
    kind: OffloadKind,
    images: Vec<ImageFile>,
    entries: Vec<OffloadEntry>,
    release: Option<Release>,
}

impl RegisteredImages {
    /// Creates an empty list of images for a runtime.
    pub fn new(kind: OffloadKind) -> Self {
        RegisteredImages { kind, images: Vec::new(), entries: Vec::new(), release: None }
    }

    /// Adds the image in a file. A relative path starts at the directory of the package. CUDA and HIP take one fat
    /// binary, or images to build one from.
    pub fn image(&mut self, path: impl Into<PathBuf>) -> &mut Self {
        self.image_for(path, TargetOverride::default())
    }

    /// Adds an image whose header does not state its triple or processor.
    pub fn image_for(&mut self, path: impl Into<PathBuf>, target: TargetOverride) -> &mut Self {
        self.images.push(ImageFile { path: path.into(), target });
        self
    }

    /// Adds an offload entry for a kernel of the images. The program refers to it by the address of `host_symbol`.
    pub fn kernel(&mut self, name: impl Into<String>, host_symbol: impl Into<String>) -> &mut Self {
        self.entry(OffloadEntry { name: name.into(), host_symbol: host_symbol.into(), ..OffloadEntry::default() })
    }

    /// Adds an offload entry for a kernel or a variable.
    pub fn entry(&mut self, entry: OffloadEntry) -> &mut Self {
        self.entries.push(entry);
        self
    }

    /// Sets the release of LLVM whose runtime registers the images; by default the newest.
    pub fn release(&mut self, release: Release) -> &mut Self {
        self.release = Some(release);
        self
    }

    /// Writes the library `name` and links it. An error is printed as cargo displays it, and ends the build script.
    pub fn compile(&self, name: &str) {
        if let Err(error) = self.try_compile(name) {
            fail(&error);
        }
    }

    /// Writes the library `name` and links it, or returns an error.
    pub fn try_compile(&self, name: &str) -> Result<(), BuildError> {
        self.compile_in(&Environment::read()?, name)?.print();
        Ok(())
    }

    fn compile_in(&self, environment: &Environment, name: &str) -> Result<Directives, BuildError> {
        let library = environment.library_name(name)?;
        if self.images.is_empty() {
            return Err(BuildError::Empty { library: name.to_owned(), method: "image" });
        }
        let mut directives = Directives::default();
        for image in &self.images {
            directives.rerun_if_changed(&image.path)?;
        }
        let directory = &environment.out_directory;
        directives.link(directory, &library, WHOLE_ARCHIVE)?;
        let object = directory.join(format!("{name}.o"));
        wrap(&WrapOptions {
            host: Some(environment.host.triple().to_owned()),
            release: self.release,
            entries: self.entries.clone(),
            // rustc links with `--gc-sections`, and for some targets with ld.lld.
            keep_entries: true,
            ..WrapOptions::new(self.kind, self.images.clone(), object.clone())
        })?;
        write_library(&object, environment.host, directory, &environment.library_file(&library))?;
        Ok(directives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::host::Host;

    const IMAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-gfx90a.hsaco");

    fn images() -> RegisteredImages {
        let mut images = RegisteredImages::new(OffloadKind::OpenMp);
        images.image(IMAGE).kernel("answer_kernel", "answer_region");
        images
    }

    #[test]
    fn the_library_has_the_object_that_wrap_writes() {
        for (host, library, magic) in [
            (Host::X86_64, "libpackage-kernels.a", &b"!<arch>\n/ "[..]),
            (Host::X86_64WindowsMsvc, "package-kernels.lib", b"!<arch>\n/ "),
            (Host::Aarch64Macos, "libpackage-kernels.a", b"!<arch>\n#1/12 "),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let out_directory = directory.path().to_owned();
            let environment = Environment { out_directory, host, package: "package".to_owned() };
            let directives = images().compile_in(&environment, "kernels").unwrap();
            let out = directory.path().display();
            let expected = [
                format!("cargo::rerun-if-changed={IMAGE}"),
                format!("cargo::rustc-link-search=native={out}"),
                "cargo::rustc-link-lib=static:+whole-archive=package-kernels".to_owned(),
            ];
            assert_eq!(directives.lines(), expected);
            let object = std::fs::read(directory.path().join("kernels.o")).unwrap();
            let library = std::fs::read(directory.path().join(library)).unwrap();
            assert!(library.starts_with(magic), "{host:?}");
            assert!(library.windows(object.len()).any(|part| part == object));
            assert_eq!(object, {
                let path = directory.path().join("again.o");
                let host = Some(host.triple().to_owned());
                let entries = images().entries;
                let options = WrapOptions::new(OffloadKind::OpenMp, images().images, path.clone());
                wrap(&WrapOptions { host, entries, keep_entries: true, ..options }).unwrap();
                std::fs::read(path).unwrap()
            });
        }
    }

    #[test]
    fn errors_name_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let out_directory = directory.path().to_owned();
        let environment = Environment { out_directory, host: Host::X86_64, package: "package".to_owned() };
        let message = |images: &RegisteredImages| images.compile_in(&environment, "kernels").unwrap_err().to_string();
        let mut images = RegisteredImages::new(OffloadKind::OpenMp);
        assert_eq!(message(&images), "kernels: no files; add one with image()");
        images.image("missing.hsaco");
        assert!(message(&images).starts_with("missing.hsaco: cannot open: "), "{}", message(&images));
        let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        images.images[0].path = text.into();
        assert!(message(&images).starts_with(text), "{}", message(&images));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
