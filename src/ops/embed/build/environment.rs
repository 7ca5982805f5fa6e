//! The environment of a build script, and its directives to cargo on standard output.
//!
//! Source: The Cargo Book, Build Scripts and Environment Variables. Directives with two colons need Rust 1.77,
//! `cargo::error` 1.84.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::BuildError;
use fatbin_core::base::io::OutputName;
use fatbin_core::host::{Host, ObjectFormat};

/// Variables that cargo sets.
#[derive(Debug)]
pub struct Environment {
    /// Directory for outputs.
    pub out_directory: PathBuf,
    /// Machine and system that the package is built for.
    pub host: Host,
    /// Name of the package.
    pub package: String,
}

/// Lines for cargo.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Directives(Vec<String>);

impl Environment {
    /// Reads the variables.
    pub fn read() -> Result<Self, BuildError> {
        let variable = |name| std::env::var_os(name).ok_or(BuildError::NotABuildScript { name });
        let text = |name| variable(name).map(|value| value.to_string_lossy().into_owned());
        Ok(Environment {
            out_directory: variable("OUT_DIR")?.into(),
            host: host(&text("TARGET")?)?,
            package: text("CARGO_PKG_NAME")?,
        })
    }

    /// Returns the name of a library of the package, without prefix and extension: libraries of one program have
    /// different names.
    pub fn library_name(&self, name: &str) -> Result<String, BuildError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_part) {
            return Err(BuildError::InvalidName { name: name.to_owned() });
        }
        Ok(format!("{}-{name}", self.package))
    }

    /// Returns the file name of a library.
    pub fn library_file(&self, name: &str) -> OutputName {
        OutputName::of(match self.host.format() {
            ObjectFormat::Coff if self.host.has_microsoft_names() => format!("{name}.lib"),
            ObjectFormat::Elf | ObjectFormat::Coff | ObjectFormat::MachO => format!("lib{name}.a"),
        })
    }
}

/// Returns the host of a target. Rust's target names are LLVM triples, except that RISC-V names state extensions.
fn host(target: &str) -> Result<Host, BuildError> {
    let triple = match target.strip_prefix("riscv64gc-") {
        Some(rest) => format!("riscv64-{rest}"),
        None => target.to_owned(),
    };
    Ok(triple.parse()?)
}

impl Directives {
    /// Runs the script again when a file changes.
    pub fn rerun_if_changed(&mut self, path: &Path) -> Result<(), BuildError> {
        self.add("rerun-if-changed=", path)
    }

    /// Links a static library in a directory.
    pub fn link(&mut self, directory: &Path, library: &str, modifiers: &str) -> Result<(), BuildError> {
        self.add("rustc-link-search=native=", directory)?;
        self.0.push(format!("cargo::rustc-link-lib=static{modifiers}={library}"));
        Ok(())
    }

    fn add(&mut self, directive: &str, path: &Path) -> Result<(), BuildError> {
        let text = path.to_str().filter(|text| !text.contains(['\n', '\r']));
        let text = text.ok_or_else(|| BuildError::InvalidPath { path: path.to_owned() })?;
        self.0.push(format!("cargo::{directive}{text}"));
        Ok(())
    }

    /// Prints the lines. Cargo reads them through a pipe, and an error there ends the script at its next output.
    pub fn print(&self) {
        let mut out = io::stdout().lock();
        for line in &self.0 {
            let _ = writeln!(out, "{line}");
        }
    }

    /// The lines.
    #[cfg(test)]
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

/// Prints an error as cargo displays it. A message is one line; names in it come from files.
pub fn print_error(error: &BuildError) {
    let text = error.to_string().replace(['\n', '\r'], " ");
    let _ = writeln!(io::stdout().lock(), "cargo::error=fatbin: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(target: &str) -> Environment {
        Environment { out_directory: "/out".into(), host: host(target).unwrap(), package: "saxpy".to_owned() }
    }

    #[test]
    fn targets_of_rust_are_hosts() {
        for (target, expected) in [
            ("x86_64-unknown-linux-gnu", Host::X86_64),
            ("x86_64-unknown-linux-musl", Host::X86_64),
            ("aarch64-unknown-linux-gnu", Host::Aarch64),
            ("riscv64gc-unknown-linux-gnu", Host::Riscv64),
            ("powerpc64le-unknown-linux-gnu", Host::Powerpc64le),
            ("s390x-unknown-linux-gnu", Host::S390x),
            ("loongarch64-unknown-linux-gnu", Host::Loongarch64),
            ("x86_64-pc-windows-msvc", Host::X86_64WindowsMsvc),
            ("x86_64-pc-windows-gnu", Host::X86_64WindowsGnu),
            ("aarch64-apple-darwin", Host::Aarch64Macos),
        ] {
            assert_eq!(host(target).unwrap(), expected, "{target}");
        }
        let error = host("wasm32-wasip1").unwrap_err().to_string();
        assert!(error.starts_with("wasm32-wasip1: unsupported host (available: x86_64"), "{error}");
    }

    #[test]
    fn libraries_have_the_names_that_rustc_looks_for() {
        let file = |target| environment(target).library_file("saxpy-kernels").to_string();
        assert_eq!(file("x86_64-unknown-linux-gnu"), "libsaxpy-kernels.a");
        assert_eq!(file("x86_64-pc-windows-gnu"), "libsaxpy-kernels.a");
        assert_eq!(file("x86_64-pc-windows-msvc"), "saxpy-kernels.lib");
        for name in ["", "a=b", "a b", "a\nb", "../a"] {
            let error = environment("x86_64-unknown-linux-gnu").library_name(name).unwrap_err();
            assert!(error.to_string().ends_with(": invalid library name; use letters, digits, - and _"));
        }
    }

    #[test]
    fn a_path_cannot_add_a_directive() {
        let error = Directives::default().rerun_if_changed(Path::new("a\ncargo::rustc-env=PATH=x")).unwrap_err();
        let expected = r#""a\ncargo::rustc-env=PATH=x": path is not UTF-8, or has a line break; rename the file"#;
        assert_eq!(error.to_string(), expected);
    }
}
