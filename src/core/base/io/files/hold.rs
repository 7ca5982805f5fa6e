//! Delay of signals that end the program while outputs get their names.

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

/// Number of commits that are in progress, or [`ENDING`].
static COMMITS: AtomicUsize = AtomicUsize::new(0);

/// A signal is ending the program.
const ENDING: usize = usize::MAX;

/// Signal that waits for the end of the commits; 0 if there is none.
static WAITING: AtomicI32 = AtomicI32::new(0);

/// Time between two checks of the state.
const PAUSE: Duration = Duration::from_millis(1);

/// A commit. Signals that end the program wait until it is dropped.
#[derive(Debug)]
pub struct Hold(());

impl Hold {
    /// Begins a commit, unless a signal is ending the program: then this does not return.
    pub fn begin() -> Hold {
        loop {
            let commits = COMMITS.load(Ordering::SeqCst);
            let is_free = commits != ENDING && WAITING.load(Ordering::SeqCst) == 0;
            let next = commits.wrapping_add(1);
            if is_free && COMMITS.compare_exchange(commits, next, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return Hold(());
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let is_last = COMMITS.fetch_sub(1, Ordering::SeqCst) == 1;
        let signal = WAITING.load(Ordering::SeqCst);
        if is_last && signal != 0 {
            // SAFETY: the call has no requirements.
            #[cfg(unix)]
            unsafe {
                libc::raise(signal)
            };
        }
    }
}

/// Returns whether a signal waits for the end of the commits.
pub fn is_waiting() -> bool {
    WAITING.load(Ordering::SeqCst) != 0
}

/// State of the program when a signal arrives.
#[cfg(unix)]
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The signal may end the program.
    Ends,
    /// Another signal is ending it.
    Ending,
    /// The signal is raised again after the commits that are in progress.
    Waits,
}

/// Announces a signal that ends the program. Handlers may call this.
#[cfg(unix)]
pub fn announce(signal: i32) -> Arrival {
    // A commit that ends after the next line sees the signal.
    WAITING.store(signal, Ordering::SeqCst);
    try_end()
}

/// Ends the commits if none is in progress. Handlers may call this.
#[cfg(unix)]
pub fn try_end() -> Arrival {
    match COMMITS.compare_exchange(0, ENDING, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => Arrival::Ends,
        Err(ENDING) => Arrival::Ending,
        Err(_) => Arrival::Waits,
    }
}
