//! `fatbin lock`.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;

use super::inputs::InputArguments;
use super::limit::LimitArgument;
use super::locking::lock_of;
use super::{Status, status};
use crate::io::Output;
use crate::lock;

/// Write down the device code in files: a text to be kept and reviewed with the source
///
/// It has a line for each image and each kernel, with sizes, registers and hashes, in an order that does not depend on how
/// files are linked. `fatbin diff` compares it with a later build.
///
/// Exit status: 0 if it was written, 1 if there is no device code, 2 if something could not be read. Then no lock is
/// written, for it would not hold everything.
#[derive(Args)]
pub struct Arguments {
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "LOCK")]
    output: PathBuf,

    /// Leave out hashes and sizes that debug information and paths go into, for builds that are not reproducible: the hash
    /// of the code of each image, and the figures of its kernels, remain
    #[arg(long)]
    code_only: bool,

    #[command(flatten)]
    limit: LimitArgument,

    #[command(flatten)]
    inputs: InputArguments,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let (mut lock, status) = lock_of(&arguments.inputs, arguments.limit.options())?;
    if status != Status::Yes {
        if status == Status::No {
            status::report(&anyhow!("no device images; {} is not written", arguments.output.display()));
        }
        return Ok(status);
    }
    if arguments.code_only {
        lock.keep_code_only();
    }
    let mut output = Output::create(&arguments.output)?;
    output.write(lock::write(&lock).as_bytes())?;
    output.commit()?;
    Ok(Status::Yes)
}
