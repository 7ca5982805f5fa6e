//! Files as data in objects.

use super::ProducerError;
use crate::embed::files::{EmbeddedFile, Name, ObjectOptions, plan};
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{Input, Sink};
use fatbin_core::host::{self, Host};

/// Returns a host object with files as data, like `fatbin embed`. A file `name` has the symbols `name` and `name_end`,
/// which libraries do not export.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fatbin::{Host, Input, embed::embed_bytes};
///
/// let object = embed_bytes(Host::X86_64, &[("kernel", Input::from_bytes("kernel.ptx", *b".version 8.8"))])?;
/// assert!(object.starts_with(b"\x7fELF"));
/// # Ok(())
/// # }
/// ```
pub fn embed_bytes(host: Host, files: &[(impl AsRef<str>, Input)]) -> Result<Vec<u8>, ProducerError> {
    let mut embedded = Vec::new();
    for (name, input) in files {
        embedded.push(EmbeddedFile { name: Name::parse(name.as_ref())?, bytes: input.view().data(), sha256: None });
    }
    let plan = plan(&embedded, &ObjectOptions::hidden(host))?;
    let mut sink = Sink::new(files.iter().map(|(_, input)| input));
    host::emit(&plan.object, host, &mut sink)?;
    let mut object = Vec::new();
    sink.copy_to(&mut object).map_err(Error::io("<memory>".as_ref(), "write"))?;
    Ok(object)
}
