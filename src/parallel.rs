//! Work on several items in parallel, with results in the order of the items.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Returns the number of threads that can run at the same time.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Calls `work` with each item in up to `workers` threads, and `visit` with the results in the order of the items, each as
/// soon as those before it are complete. With one worker or one item, no thread is started.
pub fn map_parallel<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> R + Sync,
    visit: &mut dyn FnMut(R),
) {
    let workers = workers.min(items.len());
    if workers <= 1 {
        for item in items {
            visit(work(item));
        }
        return;
    }
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(index)
                {
                    // The receiver is gone if `visit` has panicked.
                    let _ = sender.send((index, work(item)));
                }
            });
        }
        drop(sender);
        let (mut waiting, mut next_index) = (BTreeMap::new(), 0);
        for (index, result) in results {
            waiting.insert(index, result);
            while let Some(result) = waiting.remove(&next_index) {
                visit(result);
                next_index += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_each_result_once_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..200).collect();
        for workers in [0, 1, 2, 7, 1000] {
            let mut results = Vec::new();
            map_parallel(&items, workers, |item| (0..(200 - item) * 50).fold(*item, |sum, _| sum), &mut |result| {
                results.push(result);
            });
            assert_eq!(results, items, "{workers} workers");
        }
    }

    #[test]
    fn visits_the_first_result_before_the_last_item_starts() {
        let (visited, wait) = (AtomicUsize::new(0), [false, false, true]);
        let work = |&wait: &bool| {
            while wait && visited.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
        };
        map_parallel(&wait, 2, work, &mut |()| {
            visited.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(visited.into_inner(), 3);
    }
}
