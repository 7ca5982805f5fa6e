//! The option `--quiet` of all commands.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;

/// The option `--quiet` of all commands.
#[derive(Debug, Args)]
pub struct QuietArgument {
    /// Print results, warnings and errors only: no progress, no hints, no list of what was written or changed
    #[arg(long, global = true, display_order = 1002)]
    quiet: bool,
}

static IS_QUIET: AtomicBool = AtomicBool::new(false);

impl QuietArgument {
    /// Applies the choice to all output that follows.
    pub fn apply(&self) {
        IS_QUIET.store(self.quiet, Ordering::Relaxed);
    }
}

/// Returns whether only results, warnings and errors are printed.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}
