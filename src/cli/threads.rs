//! The option `--threads` of all commands, and the environment variable `FATBIN_THREADS` of all commands and drop-ins.

use std::num::NonZero;

use anyhow::anyhow;
use clap::Args;

use super::failure::Result;
use fatbin_core::base::parallel::{with_threads, with_variable};

/// The option `--threads` of all commands.
#[derive(Debug, Args)]
pub struct ThreadArgument {
    /// Maximum number of threads; 1 starts none [default: FATBIN_THREADS, or the number of processors]
    #[arg(long, global = true, value_name = "N", display_order = 1001)]
    threads: Option<NonZero<usize>>,
}

impl ThreadArgument {
    /// Calls `work` with the chosen limit.
    pub fn limit<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        match self.threads {
            Some(threads) => Ok(with_threads(threads, work)),
            None => with_variable(work).map_err(|message| anyhow!(message).into()),
        }
    }
}
