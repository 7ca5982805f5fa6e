//! Work on the items of an iterator in parallel, with results in the order of the items.

use std::collections::BTreeMap;
use std::iter::Fuse;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use super::{Permit, Threads, Wait, builder, inheriting, shared_threads};

/// Number of results of an item that may wait for the results of the items before it.
const MOST_AHEAD: usize = 64;

/// Calls `work` with each item and a function that takes its results, in up to `workers` threads. Calls `visit` with
/// the results in the order of the items, each as soon as all items before it are complete.
///
/// An item is requested when a thread is free, so an iterator may wait for its next item. At most `window` items are in
/// progress or wait for `visit`, and few results of each wait, regardless of their number. When `visit` returns
/// [`ControlFlow::Break`], no further item is started. With one worker or one item, no thread is started. A thread that
/// waits for an item or for results frees its place for parallel work inside `work`.
pub fn map_stream<T, R: Send>(
    items: impl Iterator<Item = T> + Send,
    workers: usize,
    window: usize,
    work: impl Fn(T, &mut dyn FnMut(R)) + Sync,
    visit: &mut dyn FnMut(R) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let workers = workers.min(items.size_hint().1.unwrap_or(usize::MAX));
    if workers <= 1 {
        return map_here(items, &work, visit);
    }
    let source = Mutex::new((items.fuse(), 0));
    let threads = &shared_threads();
    let gate = Gate { threads, window, state: Mutex::default(), changed: Condvar::new() };
    // A thread that produces faster than `visit` takes waits.
    let (sender, results) = mpsc::sync_channel(workers);
    thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..workers {
            let sender = sender.clone();
            let source = &source;
            let gate = &gate;
            let work = &work;
            let run = move || {
                let _close = CloseOnPanic(gate);
                while let Some((index, item)) = next_item(source, gate) {
                    let _running = Permit::unconditional(gate.threads);
                    let mut sent = 0_usize;
                    // The receiver is gone if `visit` has panicked or wants no more.
                    work(item, &mut |result| {
                        sent = sent.saturating_add(1);
                        if sent >= MOST_AHEAD {
                            gate.wait_for_turn(index);
                        }
                        let _ = sender.send((index, Some(result)));
                    });
                    let _ = sender.send((index, None));
                }
            };
            started += usize::from(builder().spawn_scoped(scope, inheriting(run)).is_ok());
        }
        drop(sender);
        if started == 0 {
            // The system has no more threads.
            return map_here(lock(&source).0.by_ref(), &work, visit);
        }
        let results = std::iter::from_fn(move || {
            let _wait = Wait::new(threads);
            results.recv().ok()
        });
        visit_in_order(results, &gate, visit)
    })
}

/// Works on the items in the calling thread.
fn map_here<T, R>(
    items: impl Iterator<Item = T>,
    work: &(impl Fn(T, &mut dyn FnMut(R)) + Sync),
    visit: &mut dyn FnMut(R) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for item in items {
        let mut flow = ControlFlow::Continue(());
        work(item, &mut |result| {
            if flow.is_continue() {
                flow = visit(result);
            }
        });
        flow?;
    }
    ControlFlow::Continue(())
}

/// Results that wait for the items before theirs.
struct Waiting<R> {
    results: Vec<R>,
    is_complete: bool,
}

/// Calls `visit` with the results in the order of the indices of their items. An item ends with `None`.
fn visit_in_order<R>(
    results: impl Iterator<Item = (usize, Option<R>)>,
    gate: &Gate<'_>,
    visit: &mut dyn FnMut(R) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let _close = Close(gate);
    let mut waiting: BTreeMap<usize, Waiting<R>> = BTreeMap::new();
    let mut current = 0;
    for (index, result) in results {
        if index != current {
            let item = waiting.entry(index).or_insert(Waiting { results: Vec::new(), is_complete: false });
            item.is_complete = result.is_none();
            item.results.extend(result);
            continue;
        }
        let mut is_complete = result.is_none();
        result.into_iter().try_for_each(&mut *visit)?;
        while is_complete {
            current += 1;
            gate.update(|state| state.current = current);
            let item = waiting.remove(&current);
            is_complete = item.as_ref().is_some_and(|item| item.is_complete);
            item.into_iter().flat_map(|item| item.results).try_for_each(&mut *visit)?;
        }
    }
    ControlFlow::Continue(())
}

/// Takes the next item and its index. Other threads wait meanwhile, because they need an item, too.
fn next_item<T>(source: &Mutex<(Fuse<impl Iterator<Item = T>>, usize)>, gate: &Gate<'_>) -> Option<(usize, T)> {
    let mut source = lock(source);
    let (items, index) = &mut *source;
    if !gate.admits(*index) {
        return None;
    }
    let item = items.next()?;
    let number = *index;
    *index += 1;
    Some((number, item))
}

/// Limit on the items that are ahead of `visit`.
struct Gate<'a> {
    threads: &'a Arc<Threads>,
    window: usize,
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    /// Index of the item whose results are visited.
    current: usize,
    /// No further item starts.
    is_closed: bool,
}

impl Gate<'_> {
    /// Waits until an item may start. False if no further item may start.
    fn admits(&self, index: usize) -> bool {
        let waits = |state: &mut GateState| !state.is_closed && index - state.current >= self.window;
        let state = self.changed.wait_while(lock(&self.state), waits).unwrap_or_else(PoisonError::into_inner);
        !state.is_closed
    }

    /// Waits until the results of the item with this index are visited, or no longer wanted.
    fn wait_for_turn(&self, index: usize) {
        let is_ahead = |state: &mut GateState| !state.is_closed && state.current < index;
        let mut state = lock(&self.state);
        if is_ahead(&mut state) {
            let _wait = Wait::new(self.threads);
            drop(self.changed.wait_while(state, is_ahead));
        }
    }

    fn update(&self, change: impl FnOnce(&mut GateState)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }
}

/// Closes the gate when no more results are visited.
struct Close<'a>(&'a Gate<'a>);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.update(|state| state.is_closed = true);
    }
}

/// Closes the gate when a thread panics: the others would wait for its result forever.
struct CloseOnPanic<'a>(&'a Gate<'a>);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.update(|state| state.is_closed = true);
        }
    }
}

/// Locks a mutex. A panic elsewhere leaves the states of this module valid.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Number of items; Miri takes a thousand times as long.
    const MANY: u64 = if cfg!(miri) { 12 } else { 200 };

    #[test]
    fn visits_each_result_once_in_the_order_of_the_items() {
        for workers in [0, 1, 2, 7, 1000] {
            for window in [1, 3, 1000] {
                let mut results = Vec::new();
                let work =
                    |item: u64, take: &mut dyn FnMut(u64)| take((0..(MANY - item) * 50).fold(item, |sum, _| sum));
                let flow = map_stream(0..MANY, workers, window, work, &mut |result| {
                    results.push(result);
                    ControlFlow::Continue(())
                });
                assert!(
                    flow.is_continue() && results.iter().copied().eq(0..MANY),
                    "{workers} workers, window {window}"
                );
            }
        }
    }

    #[test]
    fn visits_a_result_before_the_next_item_arrives() {
        for workers in [1, 2] {
            let (sender, receiver) = mpsc::channel();
            sender.send(0).unwrap();
            let mut sender = Some(sender);
            let flow = map_stream(receiver.into_iter(), workers, 64, |item, take| take(item), &mut |item| match item {
                9 => {
                    // The thread that waits for an item learns that there are no more.
                    sender = None;
                    ControlFlow::Break(())
                }
                _ => {
                    sender.as_ref().unwrap().send(item + 1).unwrap();
                    ControlFlow::Continue(())
                }
            });
            assert!(flow.is_break());
        }
    }

    #[test]
    fn starts_no_item_beyond_the_window() {
        let started = AtomicUsize::new(0);
        let visited = AtomicUsize::new(0);
        let work = |(), take: &mut dyn FnMut(())| {
            let started = 1 + started.fetch_add(1, Ordering::SeqCst);
            assert!(started <= visited.load(Ordering::SeqCst) + 3);
            take(());
        };
        let _ = map_stream(std::iter::repeat_n((), 500), 8, 3, work, &mut |()| {
            visited.fetch_add(1, Ordering::SeqCst);
            ControlFlow::Continue(())
        });
        assert_eq!(visited.into_inner(), 500);
    }

    #[test]
    fn ends_early_without_reading_the_rest() {
        for workers in [1, 4] {
            let read = AtomicUsize::new(0);
            let items = std::iter::repeat_with(|| read.fetch_add(1, Ordering::SeqCst));
            let flow = map_stream(items, workers, 8, |item, take| take(item), &mut |item| match item {
                20 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            assert!(flow.is_break() && read.into_inner() <= 21 + 8);
        }
    }

    #[test]
    fn a_panic_in_any_thread_ends_all() {
        let run = |bad_work: usize, bad_visit: usize| {
            catch_unwind(AssertUnwindSafe(|| {
                let work = |item: usize, take: &mut dyn FnMut(())| {
                    assert_ne!(item, bad_work);
                    take(());
                };
                let mut visited = 0;
                map_stream(0..100, 4, 2, work, &mut |()| {
                    visited += 1;
                    assert_ne!(visited, bad_visit);
                    ControlFlow::Continue(())
                })
            }))
        };
        assert!(run(10, 1000).is_err() && run(1000, 10).is_err() && run(1000, 1000).is_ok());
    }

    #[test]
    fn few_results_of_an_item_wait_for_the_items_before_it() {
        for workers in [1, 2, 5] {
            let made = AtomicUsize::new(0);
            let visited = AtomicUsize::new(0);
            let work = |item: usize, take: &mut dyn FnMut((usize, usize))| {
                for number in 0..1000 {
                    let made = made.fetch_add(1, Ordering::SeqCst);
                    let most = visited.load(Ordering::SeqCst) + (workers + 1) * (MOST_AHEAD + 2);
                    assert!(made <= most, "{made} of at most {most}");
                    take((item, number));
                }
            };
            let mut results = Vec::new();
            let flow = map_stream(0..6, workers, 64, work, &mut |result| {
                visited.fetch_add(1, Ordering::SeqCst);
                results.push(result);
                ControlFlow::Continue(())
            });
            let expected = (0..6).flat_map(|item| (0..1000).map(move |number| (item, number)));
            assert!(flow.is_continue() && results.into_iter().eq(expected), "{workers} workers");
        }
    }
}
