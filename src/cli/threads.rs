//! The option `--threads` of all commands, and the environment variable `FATBIN_THREADS` of all commands and drop-ins.

use std::num::NonZero;

use anyhow::anyhow;
use clap::Args;

use super::failure::Result;
use crate::base::parallel::with_threads;

/// Name of the environment variable.
const VARIABLE: &str = "FATBIN_THREADS";

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
            None => with_variable(work),
        }
    }
}

/// Calls `work` with the limit of the environment variable, if it is set.
pub fn with_variable<R>(work: impl FnOnce() -> R) -> Result<R> {
    let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(work()) };
    let threads = value.to_str().and_then(|value| value.parse().ok());
    let value = value.display();
    let threads = threads.ok_or_else(|| anyhow!("{VARIABLE}={value}: expected a number of threads, at least 1"))?;
    Ok(with_threads(threads, work))
}
