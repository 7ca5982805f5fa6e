//! Turns of threads, in the order of their items.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

use super::stream::lock;

/// The order in which threads do what must not depend on timing. The items are started in order.
#[derive(Debug, Default)]
pub struct Turns {
    state: Mutex<State>,
    passed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Index of the item whose turn it is.
    next: usize,
    /// Later items that are done.
    done: BTreeSet<usize>,
}

/// The turn of an item. It passes when this is dropped.
#[derive(Debug)]
pub struct Turn<'turns> {
    turns: &'turns Turns,
    index: usize,
}

impl Turns {
    /// The turn of the item with this index. Every item takes one, and drops it: the others wait for it.
    pub fn of(&self, index: usize) -> Turn<'_> {
        Turn { turns: self, index }
    }
}

impl Turn<'_> {
    /// Waits until the turns of all items before this one have passed.
    pub fn wait(&self) {
        let is_later = |state: &mut State| state.next < self.index;
        let state = self.turns.passed.wait_while(lock(&self.turns.state), is_later);
        drop(state.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let State { next, done } = &mut *lock(&self.turns.state);
        done.insert(self.index);
        while done.remove(next) {
            *next += 1;
        }
        self.turns.passed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::Threads;
    use super::*;

    #[test]
    fn turns_have_the_order_of_the_items_even_if_one_is_not_taken() {
        let items: Vec<usize> = (0..if cfg!(miri) { 12 } else { 200 }).collect();
        for count in [1, 2, 7] {
            let turns = Turns::default();
            let order = Mutex::new(Vec::new());
            let work = |&item: &usize| {
                let turn = turns.of(item);
                if item % 5 != 3 {
                    turn.wait();
                    lock(&order).push(item);
                }
            };
            Threads::new(count).map(&items, usize::MAX, &work, &mut |()| ());
            let expected: Vec<usize> = items.iter().copied().filter(|item| item % 5 != 3).collect();
            assert_eq!(order.into_inner().unwrap(), expected, "{count} threads");
        }
    }

    #[test]
    fn the_turn_of_a_thread_that_panics_passes() {
        let turns = Turns::default();
        let work = |&item: &usize| {
            let turn = turns.of(item);
            assert_ne!(item, 2);
            turn.wait();
        };
        let result = catch_unwind(AssertUnwindSafe(|| Threads::new(3).map(&[0, 1, 2, 3, 4], 3, &work, &mut |()| ())));
        assert!(result.is_err());
    }
}
