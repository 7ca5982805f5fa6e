//! The files of a scan as an iterator. A thread scans them, and waits until each result is taken.

use std::ops::ControlFlow;
use std::panic;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::ScannedFile;
use super::paths::{Outcome, Scanner, expand_paths};
use crate::base::error::{Error, Result};
use crate::base::parallel::{builder, inheriting};

/// Files with device code, and errors of files that cannot be read, in the order of the paths. Returned by
/// [`Scanner::scan`]. The scan ends when it is dropped.
#[derive(Debug)]
pub struct ScannedFiles {
    state: State,
}

#[derive(Debug)]
enum State {
    Running(Receiver<Result<ScannedFile>>, JoinHandle<()>),
    /// The system has no more threads.
    NotStarted(Error),
    Done,
}

impl Scanner {
    /// Scans the files, directories and archives in `paths`, several at a time, and returns them in order. Files in
    /// directories and members of archives are left out if they hold no device code and no errors.
    pub fn scan(&self, paths: impl IntoIterator<Item: Into<PathBuf>>) -> ScannedFiles {
        let scanner = self.clone();
        let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        let path = paths.first().cloned().unwrap_or_default();
        // No result is buffered: each is a file with its inventory and its cache.
        let (sender, results) = sync_channel(0);
        let state = match builder().spawn(inheriting(move || send_files(&scanner, &paths, &sender))) {
            Ok(thread) => State::Running(results, thread),
            Err(cause) => State::NotStarted(Error::Io { path, action: "start a thread to scan it", cause }),
        };
        ScannedFiles { state }
    }
}

/// Scans paths until nobody takes the results.
fn send_files(scanner: &Scanner, paths: &[PathBuf], sender: &SyncSender<Result<ScannedFile>>) {
    let send = |outcome: Outcome| {
        let is_taken = match outcome {
            Outcome::Scanned(scanned) => sender.send(Ok(scanned)).is_ok(),
            Outcome::Unreadable { error, .. } => sender.send(Err(error)).is_ok(),
            Outcome::Empty(_) => true,
        };
        if is_taken { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let (inputs, failed) = expand_paths(paths);
    if failed.into_iter().try_for_each(|(_, outcome)| send(outcome)).is_continue() {
        let _ = scanner.scan_inputs(&inputs, &|_, outcome| outcome, &|_| (), &mut |outcome| send(outcome));
    }
}

impl Iterator for ScannedFiles {
    type Item = Result<ScannedFile>;

    fn next(&mut self) -> Option<Self::Item> {
        if let State::Running(results, _) = &self.state
            && let Ok(result) = results.recv()
        {
            return Some(result);
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Running(_, thread) => {
                if let Err(payload) = thread.join() {
                    panic::resume_unwind(payload);
                }
                None
            }
            State::NotStarted(error) => Some(Err(error)),
            State::Done => None,
        }
    }
}

impl Drop for ScannedFiles {
    fn drop(&mut self) {
        if let State::Running(results, thread) = std::mem::replace(&mut self.state, State::Done) {
            // The thread stops when it cannot send.
            drop(results);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

    #[test]
    fn files_and_errors_come_in_the_order_of_the_paths() {
        let names = ["answer-sm_90.cubin", "missing", "answer-gfx90a.hsaco"];
        let scanned = Scanner::default().scan(names.map(|name| format!("{FIXTURES}/{name}")));
        let found: Vec<_> = scanned.map(|it| it.map(|it| it.file().device_images().count()).ok()).collect();
        assert_eq!(found, [Some(1), None, Some(1)]);
    }

    #[test]
    fn a_scan_that_is_dropped_ends() {
        let mut scanned = Scanner::default().scan([FIXTURES, FIXTURES]);
        assert!(scanned.next().unwrap().is_ok());
        drop(scanned);
    }
}
