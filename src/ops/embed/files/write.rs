//! `embed`: from any files to an object with named symbols, and to the C header and Rust module that declare them.

use std::io::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::embed::files::{EmbedError, EmbeddedFile, Name, ObjectOptions, c_header, plan, rust_module};
use fatbin_core::base::error::{Error, Result};
use fatbin_core::base::io::{Access, FileSet, Input, Output, OutputKind, Sink, commit_all};
use fatbin_core::host;

/// Input files, outputs and properties of an object to write.
#[derive(Debug)]
pub struct EmbedOptions {
    /// Files and their names in the program.
    pub files: Vec<(Name, PathBuf)>,
    /// Access to the files.
    pub access: Access,
    /// Properties of the object.
    pub object: ObjectOptions,
    /// Object to write.
    pub output: PathBuf,
    /// C header to write.
    pub header: Option<PathBuf>,
    /// Rust module to write.
    pub rust: Option<PathBuf>,
    /// The files of the run.
    pub set: FileSet,
}

/// Properties of a written object.
#[derive(Debug)]
pub struct EmbedSummary {
    /// Combined size of the files in bytes.
    pub size: u64,
    /// True if the files are among the large sections.
    pub is_large: bool,
}

/// Writes the object and what declares it: all outputs or none. Bytes of files are not read, except for the hashes of
/// an index.
pub fn embed(options: &EmbedOptions) -> Result<EmbedSummary, EmbedError> {
    options.files.iter().for_each(|(_, path)| options.set.add_input(path));
    let inputs: Vec<Input> =
        options.files.iter().map(|(_, path)| Input::open(path, options.access)).collect::<Result<_>>()?;
    let mut files = Vec::new();
    for ((name, _), input) in options.files.iter().zip(&inputs) {
        let sha256 = options.object.index.as_ref().map(|_| hash(input)).transpose()?;
        files.push(EmbeddedFile { name: name.clone(), bytes: input.view().data(), sha256 });
    }
    let plan = plan(&files, &options.object)?;
    let mut sink = Sink::new(&inputs);
    host::emit(&plan.object, options.object.host, &mut sink)?;
    let mut texts = Vec::new();
    if let Some(path) = &options.header {
        texts.push((path, c_header(&files, &options.object, path)?));
    }
    if let Some(path) = &options.rust {
        texts.push((path, rust_module(&files, &options.object)?));
    }

    let mut outputs = vec![Output::create(options.set.output(&options.output, OutputKind::Code)?)?];
    sink.write_to(&mut outputs[0])?;
    for (path, text) in texts {
        let mut output = Output::create(options.set.output(path, OutputKind::Text)?)?;
        output.write_all(text.as_bytes()).map_err(Error::io(path, "write"))?;
        outputs.push(output);
    }
    commit_all(outputs, &inputs)?;
    let size = inputs.iter().map(Input::size).sum();
    Ok(EmbedSummary { size, is_large: plan.is_large })
}

fn hash(input: &Input) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    input.blocks(0..input.size(), 0, |_, block| hash.update(block))?;
    Ok(hash.finalize().into())
}
