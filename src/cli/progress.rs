//! A progress bar on standard error, for work that somebody watches and that takes a while.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends sooner gets no bar: one that only flashes up disturbs.
const PATIENCE: Duration = Duration::from_millis(500);

/// Counts bytes, and shows them in the end to nobody but a terminal.
pub struct Progress {
    total: u64,
    done: u64,
    start: Instant,
    /// Made when the patience is at its end.
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Work on so many bytes.
    pub fn new(total: u64) -> Self {
        Progress { total, done: 0, start: Instant::now(), bar: None }
    }

    /// So many bytes more are done.
    pub fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        } else if self.start.elapsed() > PATIENCE {
            // Draws only if standard error is a terminal.
            let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
            bar.set_style(style.expect("the template is right"));
            bar.set_position(self.done);
            self.bar = Some(bar);
        }
    }
}

impl Drop for Progress {
    /// The bar goes before anything else is said.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
