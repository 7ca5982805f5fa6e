//! Files that the program reads through a Rust module.

use std::path::PathBuf;

use super::environment::{Directives, Environment};
use super::error::BuildError;
use super::fail;
use super::library::write_library;
use crate::embed::files::{EmbeddedFile, Name, ObjectOptions, plan, rust_module};
use fatbin_core::base::io::{Access, FileSet, Input, Output, OutputKind, OutputName, Sink};
use fatbin_core::host;

/// Files as data of the program, without registration: device images that the program loads itself, and anything else.
///
/// ```no_run
/// // Writes `modules.rs` into OUT_DIR, with a function `reduce`.
/// fatbin::embed::EmbeddedFiles::new().file("reduce", "kernels/reduce-sm_90.cubin").compile("modules");
/// ```
///
/// The program includes the file inside a module:
///
/// ```ignore
/// mod modules {
///     include!(concat!(env!("OUT_DIR"), "/modules.rs"));
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct EmbeddedFiles {
    files: Vec<(String, PathBuf)>,
}

impl EmbeddedFiles {
    /// Creates an empty list of files.
    pub fn new() -> Self {
        EmbeddedFiles::default()
    }

    /// Adds a file. Its function in the module and its symbol in the object are called `name`. No other object of the
    /// program defines that symbol.
    pub fn file(&mut self, name: impl Into<String>, path: impl Into<PathBuf>) -> &mut Self {
        self.files.push((name.into(), path.into()));
        self
    }

    /// Writes the library `name` and the module `name.rs`, and links the library. An error is printed as cargo displays
    /// it, and ends the build script.
    pub fn compile(&self, name: &str) {
        if let Err(error) = self.try_compile(name) {
            fail(&error);
        }
    }

    /// Writes the library `name` and the module `name.rs`, and links the library. Returns the path of the module, or an
    /// error.
    pub fn try_compile(&self, name: &str) -> Result<PathBuf, BuildError> {
        let environment = Environment::read()?;
        self.compile_in(&environment, name)?.print();
        Ok(environment.out_directory.join(format!("{name}.rs")))
    }

    fn compile_in(&self, environment: &Environment, name: &str) -> Result<Directives, BuildError> {
        let library = environment.library_name(name)?;
        if self.files.is_empty() {
            return Err(BuildError::Empty { library: name.to_owned(), method: "file" });
        }
        let host = environment.host;
        let directory = &environment.out_directory;
        let mut directives = Directives::default();
        let mut inputs = Vec::new();
        for (_, path) in &self.files {
            directives.rerun_if_changed(path)?;
            inputs.push(Input::open_file(path.clone(), Access::read())?);
        }
        directives.link(directory, &library, "")?;
        let mut files = Vec::new();
        for ((name, _), input) in self.files.iter().zip(&inputs) {
            let name = Name::parse(name).map_err(BuildError::Embed)?;
            files.push(EmbeddedFile { name, bytes: input.view().data(), sha256: None });
        }
        let options = ObjectOptions::hidden(host);
        let plan = plan(&files, &options).map_err(BuildError::Embed)?;
        let mut sink = Sink::new(&inputs);
        host::emit(&plan.object, host, &mut sink)?;
        let object_file = OutputName::of(format!("{name}.o"));
        let object = directory.join(object_file.as_path());
        let set = FileSet::of_inputs(&inputs);
        let mut output = Output::create(set.output_in(directory, &object_file, OutputKind::Code)?)?;
        sink.write_to(&mut output)?;
        output.commit(&inputs)?;
        write_library(&object, host, directory, &environment.library_file(&library))?;

        let module = rust_module(&files, &options).map_err(BuildError::Embed)?;
        let module_file = OutputName::of(format!("{name}.rs"));
        Output::of_bytes(set.output_in(directory, &module_file, OutputKind::Text)?, module.as_bytes())?;
        Ok(directives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::host::Host;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-sm_90.cubin");

    fn compile(files: &EmbeddedFiles) -> (tempfile::TempDir, Result<Directives, BuildError>) {
        let directory = tempfile::tempdir().unwrap();
        let out_directory = directory.path().to_owned();
        let environment = Environment { out_directory, host: Host::X86_64, package: "package".to_owned() };
        let compiled = files.compile_in(&environment, "modules");
        (directory, compiled)
    }

    #[test]
    fn the_library_has_the_file_and_the_module_its_function() {
        let (directory, directives) = compile(EmbeddedFiles::new().file("kernel", FILE));
        let out = directory.path().display();
        let expected = [
            format!("cargo::rerun-if-changed={FILE}"),
            format!("cargo::rustc-link-search=native={out}"),
            "cargo::rustc-link-lib=static=package-modules".to_owned(),
        ];
        assert_eq!(directives.unwrap().lines(), expected);
        let file = std::fs::read(FILE).unwrap();
        let read = |name| std::fs::read(directory.path().join(name)).unwrap();
        assert!(read("libpackage-modules.a").windows(file.len()).any(|part| part == file));
        let module = String::from_utf8(read("modules.rs")).unwrap();
        assert!(module.contains(&format!("pub safe static kernel: [u8; {}];", file.len())), "{module}");
    }

    #[test]
    fn errors_name_the_file_or_the_symbol() {
        let message = |files: &EmbeddedFiles| compile(files).1.unwrap_err().to_string();
        assert_eq!(message(&EmbeddedFiles::new()), "modules: no files; add one with file()");
        assert!(message(EmbeddedFiles::new().file("a", "missing")).starts_with("missing: cannot open: "));
        let twice = message(EmbeddedFiles::new().file("a", FILE).file("a", FILE));
        assert_eq!(twice, "duplicate symbol a: the start of a and the start of a; rename one of them");
    }
}
