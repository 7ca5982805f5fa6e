//! A progress bar on standard error, for work that somebody watches and that takes a while.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends sooner gets no bar: one that only flashes up disturbs.
const PATIENCE: Duration = Duration::from_millis(500);

/// Counts bytes, and shows them in the end to nobody but a terminal.
pub struct Progress {
    total: u64,
    done: u64,
    /// How many files are done, and of how many.
    files: Option<(usize, usize)>,
    start: Instant,
    /// Made when the patience is at its end.
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Work on so many bytes.
    pub fn new(total: u64) -> Self {
        Progress { total, done: 0, files: None, start: Instant::now(), bar: None }
    }

    /// Work on so many bytes in so many files.
    pub fn of_files(total: u64, files: usize) -> Self {
        let mut progress = Progress::new(total);
        progress.files = Some((0, files));
        progress
    }

    /// So many bytes more are done.
    pub fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        if self.bar.is_none() && self.start.elapsed() > PATIENCE {
            // Draws only if standard error is a terminal.
            let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
            let template = match self.files {
                Some(_) => "{wide_bar} {msg} files {bytes}/{total_bytes} {eta}",
                None => "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
            };
            bar.set_style(ProgressStyle::with_template(template).expect("the template is right"));
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            if let Some((done, all)) = self.files {
                bar.set_message(format!("{done}/{all}"));
            }
            bar.set_position(self.done);
        }
    }

    /// One file more is done, which has so many bytes.
    pub fn file_done(&mut self, bytes: u64) {
        self.files = self.files.map(|(done, all)| (done + 1, all));
        self.advance(bytes);
    }

    /// Says something without the bar in between.
    pub fn suspend<R>(&self, say: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
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
