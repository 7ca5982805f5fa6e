//! `embed`: from any files to an object with named symbols, and to the C header and Rust module that declare them.

use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::embed::{EmbedError, EmbeddedFile, Name, ObjectOptions, c_header, plan, rust_module};
use crate::error::{Error, Result};
use crate::host;
use crate::io::{Access, Input, Output, Sink, commit_all, is_same_file};

/// Size from which the descriptor of a file stays open, so that the kernel copies its bytes.
const LARGE_FILE: u64 = 1 << 20;

/// Maximum number of descriptors that stay open. Systems limit them to 1024 for a process, some to 256.
const MAX_DESCRIPTORS: usize = 128;

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
}

/// Properties of a written object.
#[derive(Debug)]
pub struct EmbedSummary {
    /// Combined size of the files in bytes.
    pub size: u64,
    /// True if the files are among the large sections.
    pub is_large: bool,
}

/// Writes the object and what declares it: all outputs or none. Bytes of files are not read, except for the hashes of an index.
pub fn embed(options: &EmbedOptions) -> Result<EmbedSummary, EmbedError> {
    let inputs = open(options)?;
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

    let mut outputs = vec![Output::update(&options.output)?];
    sink.write_to(&mut outputs[0])?;
    for (path, text) in texts {
        let mut output = Output::update(path)?;
        output.write_all(text.as_bytes()).map_err(Error::io(path, "write"))?;
        outputs.push(output);
    }
    commit_all(outputs, &inputs)?;
    let size = inputs.iter().map(Input::size).sum();
    Ok(EmbedSummary { size, is_large: plan.is_large })
}

/// Opens all files. Most descriptors are closed again: there are thousands of files.
fn open(options: &EmbedOptions) -> Result<Vec<Input>, EmbedError> {
    let outputs: Vec<&Path> = [Some(&options.output), options.header.as_ref(), options.rust.as_ref()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    for (index, output) in outputs.iter().enumerate() {
        if outputs[..index].iter().any(|other| other == output || is_same_file(other, output)) {
            return Err(EmbedError::DuplicateOutput { path: output.to_path_buf() });
        }
    }
    let mut inputs = Vec::new();
    let mut descriptors = 0;
    for (_, path) in &options.files {
        let input = Input::open(path, options.access)?;
        if let Some(output) = outputs.iter().find(|output| is_same_file(path, output)) {
            return Err(Error::SameFile { path: output.to_path_buf() }.into());
        }
        let stays_open = input.size() >= LARGE_FILE && descriptors < MAX_DESCRIPTORS;
        descriptors += usize::from(stays_open);
        inputs.push(if stays_open { input } else { input.closed() });
    }
    Ok(inputs)
}

fn hash(input: &Input) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    input.blocks(0..input.size(), 0, |_, block| hash.update(block))?;
    Ok(hash.finalize().into())
}
