//! Work on several items in parallel, with results in the order of the items.
//!
//! All parallel work shares one limit on threads: files, members of packages, images, containers of an edit. A call of
//! [`map_parallel`] works in its own thread, and starts others below the limit. A nested call finds none free at first,
//! and starts one as soon as a thread of the outer call is done: the images of the last large file get all threads. With
//! a limit of one, no thread is ever started.
//!
//! The limit belongs to the work: [`with_threads`] sets it for what it calls, in all threads that this starts. Work
//! without a limit shares the processors with other such work of the process.
//!
//! Results wait for their turn within a window. Threads do not work ahead of the window, so only a few results per
//! thread are in memory, however long the first one takes.

mod results;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(feature = "full")]
mod turns;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

pub use results::Results;
use stream::lock;
pub use stream::map_stream;
#[cfg(feature = "full")]
pub use turns::{Turn, Turns};

/// Number of items per thread that may be worked on before the result of the first of them is visited.
const WINDOW_PER_THREAD: usize = 4;

/// Name of the environment variable that limits the threads of all commands and drop-ins.
const VARIABLE: &str = "FATBIN_THREADS";

/// Threads for work without a limit: one per processor.
static PROCESSORS: LazyLock<Arc<Threads>> =
    LazyLock::new(|| Threads::new(thread::available_parallelism().map_or(1, NonZero::get)));

thread_local! {
    /// Limit on the work of this thread.
    static LIMIT: RefCell<Option<Arc<Threads>>> = const { RefCell::new(None) };
}

/// Calls `work`, which uses at most `count` threads.
pub fn with_threads<R>(count: NonZero<usize>, work: impl FnOnce() -> R) -> R {
    Threads::new(count.get()).limit(work)
}

/// Calls `work` with the limit of the environment variable, if it is set. A value that is no number is an error.
pub fn with_variable<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(work()) };
    let threads = value.to_str().and_then(|value| value.parse().ok());
    let value = value.display();
    let threads = threads.ok_or_else(|| format!("{VARIABLE}={value}: expected a number of threads, at least 1"))?;
    Ok(with_threads(threads, work))
}

/// Makes a function for another thread. It has the limit of this one.
pub fn inheriting<R>(work: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let threads = shared_threads();
    move || threads.limit(work)
}

/// Limit on the number of threads.
pub fn threads() -> usize {
    shared_threads().count
}

fn shared_threads() -> Arc<Threads> {
    LIMIT.with_borrow(Option::clone).unwrap_or_else(|| Arc::clone(&PROCESSORS))
}

/// Calls `work` with each item in up to `workers` threads, and `visit` with the results in the order of the items, in
/// the calling thread. A panic in `work` continues in the calling thread when its result would be visited.
pub fn map_parallel<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> R + Sync,
    visit: &mut dyn FnMut(R),
) {
    // One item needs no thread. Counting the processors of a container opens four files.
    match items {
        [] => {}
        [item] => visit(work(item)),
        items => shared_threads().map(items, workers, &work, visit),
    }
}

/// Stack of every thread, in bytes: Rust's default. Threads with Rust's builder take the size from `RUST_MIN_STACK`, which
/// may be too small for archives in archives.
const STACK: usize = 2 << 20;

/// Creates a builder of a thread. All threads are started by it.
pub fn builder() -> thread::Builder {
    thread::Builder::new().stack_size(STACK)
}

/// Starts a thread in addition to the calling one. `None` at the limit, and if the system has no more threads: the caller
/// does the work.
pub fn spawn_spare<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> R + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, R>> {
    let permit = shared_threads().permit()?;
    let work = move || {
        let _permit = permit;
        work()
    };
    builder().spawn_scoped(scope, work).ok()
}

/// Stack of a program's first thread on most systems, in bytes.
#[cfg(all(unix, feature = "files"))]
const FIRST_STACK: u64 = 8 << 20;

/// Calls `work` with the stack that most systems give the first thread of a program. With less (`ulimit -s`), it runs in
/// another thread.
#[cfg(all(not(unix), feature = "files"))]
pub fn with_usual_stack<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Calls `work` with the stack that most systems give the first thread of a program. With less (`ulimit -s`), it runs in
/// another thread.
#[cfg(all(unix, feature = "files"))]
pub fn with_usual_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= FIRST_STACK) {
        return work();
    }
    let work = Mutex::new(Some(work));
    let call = || lock(&work).take().map(|work| work());
    let result = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(FIRST_STACK as usize).spawn_scoped(scope, call);
        thread.ok().map(|thread| thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload)))
    });
    // Without another thread, the small stack may do.
    result.flatten().or_else(call).expect("the work is called once")
}

/// The number of threads, and those in use.
#[derive(Debug)]
struct Threads {
    count: usize,
    /// Running threads beyond the first. Less than 0 while the first waits for the others.
    started: AtomicIsize,
}

/// Permission to run a thread. It returns when it is dropped.
#[derive(Debug)]
pub struct Permit(Arc<Threads>);

impl Permit {
    /// Returns a permit even at the limit. Other work then gets none until a thread ends.
    fn unconditional(threads: &Arc<Threads>) -> Permit {
        threads.started.fetch_add(1, Ordering::Relaxed);
        Permit(Arc::clone(threads))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.started.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A wait of a running thread. Another thread may run in its place.
struct Wait<'threads>(&'threads Threads);

impl<'threads> Wait<'threads> {
    fn new(threads: &'threads Threads) -> Self {
        threads.started.fetch_sub(1, Ordering::Relaxed);
        Wait(threads)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.started.fetch_add(1, Ordering::Relaxed);
    }
}

/// The limit that a thread had before. It returns when this is dropped.
struct Outer(Option<Arc<Threads>>);

impl Drop for Outer {
    fn drop(&mut self) {
        LIMIT.set(self.0.take());
    }
}

impl Threads {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Threads { count, started: AtomicIsize::new(0) })
    }

    /// Calls `work` with this limit.
    fn limit<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        let _outer = Outer(LIMIT.replace(Some(Arc::clone(self))));
        work()
    }

    fn permit(self: &Arc<Self>) -> Option<Permit> {
        let limit = self.count as isize - 1;
        let start = |started| if started < limit { Some(started + 1) } else { None };
        self.started.fetch_update(Ordering::Relaxed, Ordering::Relaxed, start).ok().map(|_| Permit(Arc::clone(self)))
    }

    fn map<T: Sync, R: Send>(
        self: &Arc<Self>,
        items: &[T],
        workers: usize,
        work: &(dyn Fn(&T) -> R + Sync),
        visit: &mut dyn FnMut(R),
    ) {
        let results = Results::new();
        let work = |index: usize| results.keep(work(&items[index]));
        self.map_indices(items.len(), workers, &work, &mut |key| visit(results.take(key)));
    }

    /// Calls `work` with the indices of `count` items, and `visit` with the keys that it returns.
    fn map_indices(
        self: &Arc<Self>,
        count: usize,
        workers: usize,
        work: &(dyn Fn(usize) -> usize + Sync),
        visit: &mut dyn FnMut(usize),
    ) {
        let workers = workers.min(self.count).min(count);
        if workers <= 1 {
            for index in 0..count {
                visit(work(index));
            }
            return;
        }
        let job = Job {
            threads: self,
            count,
            work,
            workers,
            queue: Mutex::new(Queue { next: 0, end: count, visited: 0, helpers: 0, results: BTreeMap::new() }),
            visitable: Condvar::new(),
            startable: Condvar::new(),
        };
        thread::scope(|scope| {
            let _end = End(&job);
            while let Some(step) = job.step() {
                match step {
                    Step::Visit(Ok(key)) => visit(key),
                    Step::Visit(Err(payload)) => panic::resume_unwind(payload),
                    Step::Work(index) => {
                        job.start_helpers(scope);
                        job.run(index);
                    }
                }
            }
        });
    }
}

/// A call of [`map_parallel`].
struct Job<'a> {
    threads: &'a Arc<Threads>,
    /// Number of items.
    count: usize,
    work: &'a (dyn Fn(usize) -> usize + Sync),
    /// Maximum number of threads, including the calling one.
    workers: usize,
    queue: Mutex<Queue>,
    /// The next result to visit is complete.
    visitable: Condvar,
    /// The window has moved.
    startable: Condvar,
}

/// State of a call.
struct Queue {
    /// Index of the next item to start.
    next: usize,
    /// Index after the last item to start.
    end: usize,
    /// Number of visited results.
    visited: usize,
    /// Number of threads that were started and have not ended.
    helpers: usize,
    /// Keys of the results that were not visited, by the indices of their items.
    results: BTreeMap<usize, thread::Result<usize>>,
}

impl Queue {
    /// True if items are left but are outside the window.
    fn is_full(&self, window: usize) -> bool {
        self.next < self.end && self.next - self.visited >= window
    }

    /// Takes the index of the next item, if it is inside the window.
    fn start(&mut self, window: usize) -> Option<usize> {
        if self.next == self.end || self.is_full(window) {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }
}

/// What the calling thread does next.
enum Step {
    Visit(thread::Result<usize>),
    Work(usize),
}

impl Job<'_> {
    fn window(&self) -> usize {
        self.workers * WINDOW_PER_THREAD
    }

    /// Waits until a result is complete or an item can be started; `None` when all results were visited.
    fn step(&self) -> Option<Step> {
        let mut queue = lock(&self.queue);
        loop {
            let visited = queue.visited;
            if let Some(result) = queue.results.remove(&visited) {
                queue.visited += 1;
                self.startable.notify_all();
                return Some(Step::Visit(result));
            }
            if queue.visited == self.count {
                return None;
            }
            if let Some(index) = queue.start(self.window()) {
                return Some(Step::Work(index));
            }
            let _wait = Wait::new(self.threads);
            queue = self.visitable.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Works on an item. A panic becomes its result.
    fn run(&self, index: usize) {
        let result = panic::catch_unwind(AssertUnwindSafe(|| (self.work)(index)));
        let mut queue = lock(&self.queue);
        queue.results.insert(index, result);
        if index == queue.visited {
            self.visitable.notify_one();
        }
    }

    /// Starts threads for the remaining items, up to the limit.
    fn start_helpers<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        loop {
            let mut queue = lock(&self.queue);
            if queue.next == queue.end || queue.is_full(self.window()) || queue.helpers + 1 >= self.workers {
                return;
            }
            let Some(permit) = self.threads.permit() else { return };
            queue.helpers += 1;
            drop(queue);
            if builder().spawn_scoped(scope, inheriting(move || self.help(scope, permit))).is_err() {
                // The system has no more threads. The running ones do the work.
                lock(&self.queue).helpers -= 1;
                return;
            }
        }
    }

    /// Works on items until none is left, or until other work takes the place of this thread.
    fn help<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, permit: Permit) {
        let mut permit = Some(permit);
        while let Some(index) = self.next_of_helper(&mut permit) {
            self.start_helpers(scope);
            self.run(index);
        }
    }

    /// Returns the index of the next item for a started thread. A thread that waits for the window does not count as
    /// running.
    fn next_of_helper(&self, permit: &mut Option<Permit>) -> Option<usize> {
        let mut queue = lock(&self.queue);
        while queue.is_full(self.window()) {
            *permit = None;
            queue = self.startable.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if permit.is_none() {
            *permit = self.threads.permit();
        }
        let index = if permit.is_some() { queue.start(self.window()) } else { None };
        if index.is_none() {
            queue.helpers -= 1;
        }
        index
    }
}

/// Ends the started threads when the calling thread is done, or panics.
struct End<'a, 'job>(&'a Job<'job>);

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.end = queue.next;
        self.0.startable.notify_all();
    }
}
