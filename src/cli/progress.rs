//! A progress bar on standard error for operations that take a while.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::quiet::is_quiet;

/// Delay before the bar appears: shorter operations show none.
const DELAY: Duration = Duration::from_millis(500);

/// Progress of an operation, in bytes. It is drawn only if standard error is a terminal.
#[derive(Debug)]
pub struct Progress {
    /// Absent while the inputs are still being listed.
    total: Option<u64>,
    done: u64,
    /// Number of finished files, and of all files if it is known.
    files: Option<(usize, Option<usize>)>,
    start: Instant,
    /// True with `--quiet`, and on terminals without control sequences.
    is_hidden: bool,
    /// The bar, once the delay has passed.
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Creates the progress of an operation on `total` bytes.
    pub fn new(total: u64) -> Self {
        let is_hidden = is_quiet() || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Progress { total: Some(total), done: 0, files: None, start: Instant::now(), is_hidden, bar: None }
    }

    /// Creates the progress of an operation on `total` bytes in `files` files.
    pub fn of_files(total: u64, files: usize) -> Self {
        let mut progress = Progress::new(total);
        progress.files = Some((0, Some(files)));
        progress
    }

    /// Creates the progress of an operation on files whose number is not known.
    pub fn of_stream() -> Self {
        let mut progress = Progress::new(0);
        (progress.total, progress.files) = (None, Some((0, None)));
        progress
    }

    /// Adds finished bytes.
    pub fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        if self.bar.is_none() && !self.is_hidden && self.start.elapsed() > DELAY {
            // Draws only if standard error is a terminal.
            let bar = ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr());
            let template = match self.files {
                Some((_, None)) => "{spinner} {msg} files {bytes} {bytes_per_sec}",
                Some(_) => "{wide_bar} {msg} files {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
                None => "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
            };
            bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            if let Some((done, all)) = self.files {
                bar.set_message(all.map_or_else(|| done.to_string(), |all| format!("{done}/{all}")));
            }
            bar.set_position(self.done);
        }
    }

    /// Adds a finished file of `bytes` bytes.
    pub fn file_done(&mut self, bytes: u64) {
        self.files = self.files.map(|(done, all)| (done + 1, all));
        self.advance(bytes);
    }

    /// Calls a function that prints, with the bar hidden.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Progress {
    /// Removes the bar, so that messages do not mix with it.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
