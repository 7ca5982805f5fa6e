//! The line of progress on standard error, which a thread draws while a command runs.
//!
//! The line shows finished files and the bytes that were read, decompressed, hashed and written. It appears once a
//! command has run for a while, and changes with the work, in every phase.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use fatbin_core::base::activity::Work;
use fatbin_core::base::parallel::builder;

/// Delay before the line appears: shorter commands show none.
const DELAY: Duration = Duration::from_millis(500);

/// Time between two changes of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line of a run.
#[derive(Debug, Clone, Default)]
pub struct Line(Arc<Mutex<State>>);

/// What the line shows.
#[derive(Debug, Default)]
struct State {
    plan: Option<Plan>,
    /// The line, once the delay has passed.
    bar: Option<ProgressBar>,
}

/// The inputs of the current phase.
#[derive(Debug)]
struct Plan {
    /// Absent while the inputs are still being listed.
    total: Option<u64>,
    done: u64,
    /// Number of finished files, and of all files if it is known.
    files: Option<(usize, Option<usize>)>,
    /// Bytes that were read before this phase.
    read_before: u64,
}

impl State {
    fn draw(&self, start: Instant) {
        let Some(bar) = &self.bar else { return };
        let seconds = format!("{:.1} s", start.elapsed().as_secs_f64());
        let total = self.plan.as_ref().and_then(|plan| plan.total);
        let template = if total.is_some() { "{wide_bar} {msg}" } else { "{spinner} {msg}" };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        if let (Some(plan), Some(total)) = (&self.plan, total) {
            let read = Work::Read.bytes() - plan.read_before;
            bar.set_length(total);
            bar.set_position(plan.done.max(read.min(total)));
        }
        let files = self.plan.as_ref().map(Plan::describe);
        let parts: Vec<String> = files.into_iter().flatten().chain(work()).chain([seconds]).collect();
        bar.set_message(parts.join(", "));
        bar.tick();
    }
}

impl Plan {
    fn describe(&self) -> Option<String> {
        let total = self.total.map(|total| format!("/{}", HumanBytes(total))).unwrap_or_default();
        let (done, all) = self.files?;
        let all = all.map(|all| format!("/{all}")).unwrap_or_default();
        Some(format!("{done}{all} files {}{total}", HumanBytes(self.done)))
    }
}

/// The bytes of each kind of work, without the kinds that have none.
fn work() -> impl Iterator<Item = String> {
    let named = Work::ALL.map(|work| match work {
        Work::Read => (work, "read"),
        Work::Decompressed => (work, "decompressed"),
        Work::Hashed => (work, "hashed"),
        Work::Written => (work, "written"),
    });
    let described = named.map(|(work, name)| (work.bytes(), name));
    described.into_iter().filter(|(bytes, _)| *bytes > 0).map(|(bytes, name)| format!("{} {name}", HumanBytes(bytes)))
}

/// Draws the line until it is dropped.
#[derive(Debug)]
pub struct ShownLine {
    line: Line,
    end: End,
    thread: JoinHandle<()>,
}

/// Whether the thread ends.
type End = Arc<(Mutex<bool>, Condvar)>;

impl Line {
    /// Starts the thread that draws the line; `None` if standard error is no terminal, or one without control sequences.
    pub fn show(&self) -> Option<ShownLine> {
        let is_dumb = || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        if !Term::stderr().is_term() || is_dumb() {
            return None;
        }
        let end = End::default();
        let (line, seen) = (self.clone(), Arc::clone(&end));
        // Work goes on without the line.
        let thread = builder().spawn(move || line.draw_until(&seen)).ok()?;
        Some(ShownLine { line: self.clone(), end, thread })
    }

    fn draw_until(&self, (end, changed): &(Mutex<bool>, Condvar)) {
        let start = Instant::now();
        let mut is_over = end.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let waited = changed.wait_timeout(is_over, INTERVAL);
            is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *is_over {
                return;
            }
            let mut state = self.state();
            if state.bar.is_none() && start.elapsed() >= DELAY {
                state.bar = Some(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
            }
            state.draw(start);
        }
    }

    /// Calls a function that prints, with the line hidden.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        let bar = self.state().bar.clone();
        match bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShownLine {
    /// Removes the line, so that messages do not mix with it.
    pub fn remove(self) {
        *self.end.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.end.1.notify_all();
        let _ = self.thread.join();
        if let Some(bar) = self.line.state().bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Progress of a phase, in bytes and files.
#[derive(Debug)]
pub struct Progress(Line);

impl Progress {
    /// Creates the progress of an operation on `total` bytes.
    pub fn new(line: &Line, total: u64) -> Self {
        Progress::of(line, Some(total), None)
    }

    /// Creates the progress of an operation on `total` bytes in `files` files.
    pub fn of_files(line: &Line, total: u64, files: usize) -> Self {
        Progress::of(line, Some(total), Some((0, Some(files))))
    }

    /// Creates the progress of an operation on files whose number is not known.
    pub fn of_stream(line: &Line) -> Self {
        Progress::of(line, None, Some((0, None)))
    }

    fn of(line: &Line, total: Option<u64>, files: Option<(usize, Option<usize>)>) -> Self {
        line.state().plan = Some(Plan { total, done: 0, files, read_before: Work::Read.bytes() });
        Progress(line.clone())
    }

    /// Adds finished bytes.
    pub fn advance(&self, bytes: u64) {
        if let Some(plan) = &mut self.0.state().plan {
            plan.done += bytes;
        }
    }

    /// Adds a finished file of `bytes` bytes.
    pub fn file_done(&self, bytes: u64) {
        if let Some(plan) = &mut self.0.state().plan {
            plan.files = plan.files.map(|(done, all)| (done + 1, all));
            plan.done += bytes;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.state().plan = None;
    }
}
