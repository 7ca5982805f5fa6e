//! Tests of the order of results, the number of threads, and panics.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicUsize;
use std::thread::ThreadId;

use super::*;

/// Works on items with `count` threads, and returns the results in the order of the visits.
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
    let started = AtomicUsize::new(0);
    let visited = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
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
    let running = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
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
    // A thread whose wait has ended runs in parallel with its replacement until the replacement is done with its item.
    assert!(most.into_inner() <= 2 * 3);
    assert_eq!(threads.started.load(Ordering::SeqCst), 0);
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
        assert_eq!((visited.into_inner(), threads.started.load(Ordering::SeqCst)), (10, 0), "{count} threads");
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

#[test]
fn a_limit_applies_in_the_threads_of_its_work_and_nowhere_else() {
    let before = threads();
    let limit = |count| NonZero::new(count).unwrap();
    with_threads(limit(3), || {
        let mut counts = Vec::new();
        map_parallel(&[(); 20], usize::MAX, |()| threads(), &mut |count| counts.push(count));
        let mut streamed = Vec::new();
        let _ = map_stream(0..20, 3, 8, |_, send| send(threads()), &mut |count| {
            streamed.push(count);
            ControlFlow::Continue(())
        });
        assert_eq!((counts, streamed), (vec![3; 20], vec![3; 20]));
        assert_eq!(thread::spawn(inheriting(threads)).join().unwrap(), 3);
        assert_eq!(with_threads(limit(1), || (threads(), shared_threads().permit().is_none())), (1, true));
        assert_eq!(threads(), 3);
    });
    assert_eq!(
        panic::catch_unwind(|| with_threads(limit(2), || panic!("work"))).map_err(|_| threads()),
        Err::<(), _>(before)
    );
}

#[test]
fn a_spare_thread_ends_before_another_one_starts() {
    with_threads(NonZero::new(2).unwrap(), || {
        thread::scope(|scope| {
            let one = spawn_spare(scope, || 1).unwrap();
            assert_eq!(one.join().unwrap(), 1);
            let two = spawn_spare(scope, || 2).unwrap();
            assert_eq!(two.join().unwrap(), 2);
        });
    });
    let none = with_threads(NonZero::new(1).unwrap(), || thread::scope(|scope| spawn_spare(scope, || ()).is_none()));
    assert!(none);
}
