//! Work on several items in parallel, with results in the order of the items.
//!
//! The process has one number of threads, whatever is done in parallel: files, the images of a file, the containers of an
//! edit. A call of [`map_parallel`] works in its own thread, and starts others while the process has fewer than that. So a
//! call inside the work of another finds none at first, and starts one as soon as a thread of the outer call is done: the
//! images of the last large file get all threads. With a single thread, none is ever started.
//!
//! Results wait for their turn within a window. Threads do not work further ahead than that, so the results in memory are
//! a few per thread however long the first one takes.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Scope};

/// Items per thread that are worked on before the result of the first of them is visited.
const WINDOW_PER_THREAD: usize = 4;

/// The threads of the process.
static THREADS: OnceLock<Threads> = OnceLock::new();

/// Limits the number of threads of the process. Only the first call has an effect, and only before parallel work.
#[cfg(feature = "cli")]
pub fn set_threads(count: NonZero<usize>) {
    THREADS.get_or_init(|| Threads::new(count.get()));
}

/// Returns the number of threads of the process: the number of processors, unless it was set.
pub fn threads() -> usize {
    all_threads().count
}

fn all_threads() -> &'static Threads {
    THREADS.get_or_init(|| Threads::new(thread::available_parallelism().map_or(1, NonZero::get)))
}

/// Calls `work` with each item in up to `workers` threads, and `visit` with the results in the order of the items, in the
/// calling thread. A panic in `work` continues in the calling thread when its result would be visited.
pub fn map_parallel<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> R + Sync,
    visit: &mut dyn FnMut(R),
) {
    all_threads().map(items, workers, &work, visit);
}

/// Returns a permit to run a thread beside the calling one, if the process has fewer than it may have.
pub fn spare_thread() -> Option<Permit<'static>> {
    all_threads().permit()
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
pub struct Permit<'threads>(&'threads Threads);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.started.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A wait of a running thread, in place of which another may run.
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

impl Threads {
    const fn new(count: usize) -> Self {
        Threads { count, started: AtomicIsize::new(0) }
    }

    fn permit(&self) -> Option<Permit<'_>> {
        let limit = self.count.saturating_sub(1) as isize;
        let start = |started| if started < limit { Some(started + 1) } else { None };
        self.started.fetch_update(Ordering::Relaxed, Ordering::Relaxed, start).ok().map(|_| Permit(self))
    }

    fn map<T: Sync, R: Send, W: Fn(&T) -> R + Sync>(
        &self,
        items: &[T],
        workers: usize,
        work: &W,
        visit: &mut dyn FnMut(R),
    ) {
        let workers = workers.min(self.count).min(items.len());
        if workers <= 1 {
            for item in items {
                visit(work(item));
            }
            return;
        }
        let job = Job {
            threads: self,
            items,
            work,
            workers,
            queue: Mutex::new(Queue { next: 0, end: items.len(), visited: 0, helpers: 0, results: BTreeMap::new() }),
            visitable: Condvar::new(),
            startable: Condvar::new(),
        };
        thread::scope(|scope| {
            let _end = End(&job);
            loop {
                match job.step() {
                    Step::Visit(Ok(result)) => visit(result),
                    Step::Visit(Err(payload)) => panic::resume_unwind(payload),
                    Step::Work(index) => {
                        job.start_helpers(scope);
                        job.run(index);
                    }
                    Step::Done => break,
                }
            }
        });
    }
}

/// A call of [`map_parallel`].
struct Job<'a, T, R, W> {
    threads: &'a Threads,
    items: &'a [T],
    work: &'a W,
    /// Maximum number of threads, with the calling one.
    workers: usize,
    queue: Mutex<Queue<R>>,
    /// The next result to visit is complete.
    visitable: Condvar,
    /// The window has moved.
    startable: Condvar,
}

/// State of a call.
struct Queue<R> {
    /// Index of the next item to start.
    next: usize,
    /// Index after the last item to start.
    end: usize,
    /// Number of visited results.
    visited: usize,
    /// Number of threads that were started and have not ended.
    helpers: usize,
    /// Results that were not visited, by the indices of their items.
    results: BTreeMap<usize, thread::Result<R>>,
}

impl<R> Queue<R> {
    /// Returns whether items are left and the window does not contain them.
    fn is_full(&self, window: usize) -> bool {
        self.next < self.end && self.next - self.visited >= window
    }

    /// Returns the index of an item to work on.
    fn start(&mut self, window: usize) -> Option<usize> {
        if self.next == self.end || self.is_full(window) {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }
}

/// The next thing that the calling thread does.
enum Step<R> {
    Visit(thread::Result<R>),
    Work(usize),
    Done,
}

impl<T: Sync, R: Send, W: Fn(&T) -> R + Sync> Job<'_, T, R, W> {
    fn window(&self) -> usize {
        self.workers.saturating_mul(WINDOW_PER_THREAD)
    }

    fn lock(&self) -> MutexGuard<'_, Queue<R>> {
        // Nothing panics while the queue is locked.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a result is complete or an item can be started.
    fn step(&self) -> Step<R> {
        let mut queue = self.lock();
        loop {
            let visited = queue.visited;
            if let Some(result) = queue.results.remove(&visited) {
                queue.visited += 1;
                self.startable.notify_all();
                return Step::Visit(result);
            }
            if queue.visited == self.items.len() {
                return Step::Done;
            }
            if let Some(index) = queue.start(self.window()) {
                return Step::Work(index);
            }
            let _wait = Wait::new(self.threads);
            queue = self.visitable.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Works on an item. A panic is its result.
    fn run(&self, index: usize) {
        let result = panic::catch_unwind(AssertUnwindSafe(|| (self.work)(&self.items[index])));
        let mut queue = self.lock();
        queue.results.insert(index, result);
        if index == queue.visited {
            self.visitable.notify_one();
        }
    }

    /// Starts threads for the items that are left, as far as the process may have more.
    fn start_helpers<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        loop {
            let mut queue = self.lock();
            if queue.next == queue.end || queue.is_full(self.window()) || queue.helpers + 1 >= self.workers {
                return;
            }
            let Some(permit) = self.threads.permit() else { return };
            queue.helpers += 1;
            drop(queue);
            if thread::Builder::new().spawn_scoped(scope, move || self.help(scope, permit)).is_err() {
                // The system has no more threads. Those that run do the work.
                self.lock().helpers -= 1;
                return;
            }
        }
    }

    /// Works on items until none is left, or until other work has taken the place of this thread.
    fn help<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, permit: Permit<'scope>) {
        let mut permit = Some(permit);
        while let Some(index) = self.next_of_helper(&mut permit) {
            self.start_helpers(scope);
            self.run(index);
        }
    }

    /// Returns the index of the next item for a started thread. A thread that waits for the window does not count as
    /// running.
    fn next_of_helper<'a>(&'a self, permit: &mut Option<Permit<'a>>) -> Option<usize> {
        let mut queue = self.lock();
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
struct End<'a, 'job, T: Sync, R: Send, W: Fn(&T) -> R + Sync>(&'a Job<'job, T, R, W>);

impl<T: Sync, R: Send, W: Fn(&T) -> R + Sync> Drop for End<'_, '_, T, R, W> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.end = queue.next;
        self.0.startable.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::AtomicUsize;
    use std::thread::ThreadId;

    use super::*;

    /// Returns the results of work on items by `count` threads, in the order in which they are visited.
    fn map<T: Sync, R: Send>(count: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let mut results = Vec::new();
        Threads::new(count).map(items, usize::MAX, &work, &mut |result| results.push(result));
        results
    }

    /// Number of items. Miri takes a thousand times longer.
    const MANY: usize = if cfg!(miri) { 20 } else { 500 };

    #[test]
    fn visits_each_result_once_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..MANY).collect();
        for count in [1, 2, 3, 7] {
            let results = map(count, &items, |item| (0..(MANY - item) * 10).fold(*item, |sum, _| sum));
            assert_eq!(results, items, "{count} threads");
        }
        assert!(map(7, &[], |()| ()).is_empty());
    }

    #[test]
    fn one_thread_or_one_item_starts_no_thread() {
        let own = thread::current().id();
        let id = |_: &usize| thread::current().id();
        assert!(map(1, &[0; 50], id).iter().all(|id| *id == own));
        assert_eq!(map(7, &[0], id), [own]);
        let mut ids = Vec::new();
        Threads::new(7).map(&[0; 50], 1, &id, &mut |id| ids.push(id));
        assert!(ids.iter().all(|id| *id == own));
    }

    /// Waits until a number is reached.
    fn wait_for(number: &AtomicUsize, least: usize) {
        while number.load(Ordering::SeqCst) < least {
            thread::yield_now();
        }
    }

    #[test]
    fn as_many_threads_work_at_a_time_as_there_may_be() {
        let running = AtomicUsize::new(0);
        let ids = map(3, &[(); 3], |()| {
            running.fetch_add(1, Ordering::SeqCst);
            wait_for(&running, 3);
            thread::current().id()
        });
        assert_eq!(ids.into_iter().collect::<HashSet<ThreadId>>().len(), 3);
    }

    #[test]
    fn a_slow_item_does_not_let_results_pile_up() {
        let (started, visited, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let items: Vec<usize> = (0..MANY).collect();
        let window = 2 * WINDOW_PER_THREAD;
        let work = |&item: &usize| {
            let ahead = started.fetch_add(1, Ordering::SeqCst) + 1 - visited.load(Ordering::SeqCst);
            most.fetch_max(ahead, Ordering::SeqCst);
            if item == 0 {
                // The other thread fills the window in the meantime.
                wait_for(&started, window);
            }
        };
        Threads::new(2).map(&items, 2, &work, &mut |()| {
            visited.fetch_add(1, Ordering::SeqCst);
        });
        // A result is counted as visited after the window has moved.
        assert!((window..=window + 1).contains(&most.into_inner()));
    }

    #[test]
    fn nested_calls_share_the_threads() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let threads = Threads::new(3);
        let outer: Vec<usize> = (0..7).collect();
        let mut sums = Vec::new();
        let work = |&item: &usize| {
            let inner: Vec<usize> = (0..20).map(|it| it * item).collect();
            let mut sum = 0;
            let work = |it: &usize| {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
                *it
            };
            threads.map(&inner, usize::MAX, &work, &mut |it| sum += it);
            sum
        };
        threads.map(&outer, usize::MAX, &work, &mut |sum| sums.push(sum));
        assert_eq!(sums, outer.iter().map(|item| 190 * item).collect::<Vec<_>>());
        // A thread whose wait has ended runs beside the one that took its place until that is done with its item.
        assert!(most.into_inner() <= 2 * 3);
        assert_eq!(threads.started.into_inner(), 0);
    }

    #[test]
    fn the_last_item_gets_the_threads_of_those_before() {
        let threads = Threads::new(2);
        let done = AtomicUsize::new(0);
        let work = |&is_last: &bool| {
            if !is_last {
                return 0;
            }
            let meeting = AtomicUsize::new(0);
            let meet = |&is_first: &bool| {
                // The other thread may still be at the end of the items before.
                while is_first && threads.started.load(Ordering::SeqCst) > 0 && meeting.load(Ordering::SeqCst) == 0 {
                    thread::yield_now();
                }
                if !is_first {
                    meeting.fetch_add(1, Ordering::SeqCst);
                    // Ends only if both items are worked on at a time.
                    wait_for(&meeting, 2);
                }
            };
            let mut count = |()| {
                done.fetch_add(1, Ordering::SeqCst);
            };
            threads.map(&[true, false, false], 2, &meet, &mut count);
            1
        };
        let mut results = Vec::new();
        threads.map(&[false, false, false, true], 2, &work, &mut |result| results.push(result));
        assert_eq!((results, done.into_inner()), (vec![0, 0, 0, 1], 3));
    }

    #[test]
    fn a_panic_in_the_work_continues_in_the_calling_thread() {
        for count in [1, 2, 5] {
            let visited = AtomicUsize::new(0);
            let threads = Threads::new(count);
            let result = panic::catch_unwind(AssertUnwindSafe(|| {
                let items: Vec<usize> = (0..MANY).collect();
                let work = |&item: &usize| assert_ne!(item, 10, "the item");
                threads.map(&items, usize::MAX, &work, &mut |()| {
                    visited.fetch_add(1, Ordering::SeqCst);
                });
            }));
            let message = result.unwrap_err().downcast::<String>().unwrap();
            assert!(message.contains("the item"), "{message}");
            assert_eq!((visited.into_inner(), threads.started.into_inner()), (10, 0), "{count} threads");
        }
    }

    #[test]
    fn a_panic_while_visiting_ends_the_threads() {
        let result = panic::catch_unwind(|| {
            let items: Vec<usize> = (0..MANY).collect();
            Threads::new(3).map(&items, 3, &|item| *item, &mut |item| assert_ne!(item, 3));
        });
        assert!(result.is_err());
    }
}
