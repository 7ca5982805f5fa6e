//! roc-obj-ls: lists the code objects of files as addresses.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::short_options::ShortOptions;
use super::{DIED, NOT_FOUND, deprecated};
use crate::FAILED;
use crate::access;
use crate::diagnostics::{TextOutput, write_messages};
use fatbin_core::base::io::{FileUri, Input};
use fatbin_core::format::ContainerType;
use fatbin_core::scan::inventory::{Container, File, Image};
use fatbin_core::scan::{self, Options};

const VERSION: &str = concat!("fatbin ", env!("CARGO_PKG_VERSION"), ", in place of roc-obj-ls\n");

/// Start of the names of sections for bundles; a suffix may follow.
const SECTION: &str = ".hip_fat";

/// Runs as the tool.
pub fn run(program: &OsStr, arguments: &[OsString]) -> u8 {
    let line = ShortOptions::parse(arguments, b"vhd");
    write_messages(&line.warnings);
    let mut out = TextOutput::default();
    if line.is_version {
        out.push(VERSION);
        return out.flush();
    }
    if line.has(b'h') {
        out.push(&usage(program));
        return out.flush();
    }
    write_messages(&format!("Warning:  {}", deprecated()));
    let mut listing = Listing { is_verbose: line.has(b'v'), bundles: 0, has_compressed: false, out };
    let status = line.operands.iter().map(|file| listing.file(Path::new(file))).find(|status| *status != 0);
    let printed = listing.out.flush();
    let own = if listing.has_compressed { FAILED } else { printed };
    status.unwrap_or(own)
}

fn usage(program: &OsStr) -> String {
    format!(
        "Usage: {} [-v|h] executable...\n\
         List the URIs of the code objects embedded in the specfied host executables.\n\
         -v \tVerbose output (includes Entry ID)\n\
         -h \tShow this help message\n",
        program.display()
    )
}

/// The listing of all files. Bundles are numbered across files.
#[derive(Debug)]
struct Listing {
    is_verbose: bool,
    bundles: usize,
    has_compressed: bool,
    out: TextOutput,
}

impl Listing {
    /// Lists a file, and returns the exit status.
    fn file(&mut self, path: &Path) -> u8 {
        // The tool treats `-` as a file name.
        let place = if path == Path::new("-") { Path::new("./-") } else { path };
        let Ok(input) = Input::open(place, access::get()) else {
            write_messages(&format!("Error: failed to open file: {}\n", path.display()));
            return NOT_FOUND;
        };
        let file = match bundles_of(&input) {
            Ok(file) => file,
            Err(error) => {
                write_messages(&format!("Error: {error}\n"));
                return DIED;
            }
        };
        let is_bundle =
            |container: &&Container| [ContainerType::Bundle, ContainerType::Ccob].contains(&container.container_type);
        let bundles: Vec<&Container> = file.containers.iter().filter(is_bundle).collect();
        if bundles.is_empty() {
            write_messages("Error: No kernel section found\n");
            return DIED;
        }
        for bundle in bundles {
            match bundle.container_type {
                ContainerType::Ccob => self.compressed(path, bundle),
                _ => self.bundle(path, bundle),
            }
        }
        0
    }

    /// Lists a bundle.
    fn bundle(&mut self, path: &Path, bundle: &Container) {
        self.bundles += 1;
        if self.is_verbose {
            self.out.push(&format!("{:<8}{:<40}{:>35}\n", "Bundle#", "Entry ID:", "URI:"));
        }
        for image in &bundle.images {
            let id = image.id.as_deref().unwrap_or_default();
            let address = address(path, image);
            self.out.push(&format!("{:<8}{id:<40}{:>35}{address}\n", self.bundles, "file://"));
        }
        if self.is_verbose {
            self.out.push("\n");
        }
    }

    /// Reports a compressed bundle.
    fn compressed(&mut self, path: &Path, bundle: &Container) {
        self.has_compressed = true;
        let offset = bundle.offset.unwrap_or_default();
        write_messages(&format!(
            "Error: {}: the bundle at offset {offset} is compressed: its code objects have no address; use fatbin extract\n",
            path.display()
        ));
    }
}

/// Scans a file by its structure, or by magic if the structure has no section for bundles.
fn bundles_of(input: &Input) -> fatbin_core::base::error::Result<File> {
    let options = Options::default().with_structure_only(true);
    let mut file = scan::scan(input, options)?;
    let is_own = |container: &Container| container.section_name().is_some_and(|name| name.starts_with(SECTION));
    if file.containers.iter().any(is_own) {
        file.containers.retain(is_own);
        return Ok(file);
    }
    scan::scan(input, Options::default())
}

/// Address of an image, without its scheme.
fn address(path: &Path, image: &Image) -> String {
    let range = image.offset.zip(image.size);
    let uri = FileUri { path: PathBuf::from(path), range }.to_string();
    uri.strip_prefix("file://").map(str::to_owned).unwrap_or(uri)
}
