//! Lists that signal handlers read: hidden files to remove, and mappings of inputs.
//!
//! A handler may interrupt any instruction, so it must not lock, allocate or free. Adding an item stores one pointer;
//! taking it, by its owner or by a handler, swaps the pointer out, so that each item is taken once.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A list of items that only grows; places of removed items are used again.
#[derive(Debug)]
pub struct Registry<T: 'static> {
    first: AtomicPtr<Node<T>>,
    /// Number of removed items whose places may be free. While it is 0, adding an item takes constant time.
    removed: AtomicUsize,
}

#[derive(Debug)]
struct Node<T> {
    item: AtomicPtr<T>,
    /// Set before the node is in the list, and never changed.
    next: AtomicPtr<Node<T>>,
}

/// An item in a registry. Dropping it removes the item.
#[derive(Debug)]
pub struct Registration<T: 'static> {
    node: &'static Node<T>,
    registry: &'static Registry<T>,
}

impl<T> Registry<T> {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Registry { first: AtomicPtr::new(ptr::null_mut()), removed: AtomicUsize::new(0) }
    }

    /// Adds an item.
    pub fn add(&'static self, item: T) -> Registration<T> {
        let item = Box::into_raw(Box::new(item));
        let take = |node: &&Node<T>| {
            node.item.compare_exchange(ptr::null_mut(), item, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let one_less = |removed: usize| removed.checked_sub(1);
        let may_be_free = self.removed.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less).is_ok();
        let free = if may_be_free { self.nodes().find(take) } else { None };
        let node = free.unwrap_or_else(|| self.push(item));
        Registration { node, registry: self }
    }

    fn push(&self, item: *mut T) -> &'static Node<T> {
        let node: &'static Node<T> =
            Box::leak(Box::new(Node { item: AtomicPtr::new(item), next: AtomicPtr::new(ptr::null_mut()) }));
        let address = ptr::from_ref(node).cast_mut();
        let link = |first: *mut Node<T>| {
            node.next.store(first, Ordering::Relaxed);
            Some(address)
        };
        let _ = self.first.fetch_update(Ordering::AcqRel, Ordering::Acquire, link);
        node
    }

    /// Takes items until `visit` returns true, which is the result. Items are not freed, so handlers may call this.
    #[cfg(any(unix, test))]
    pub fn take(&self, mut visit: impl FnMut(&'static T) -> bool) -> bool {
        self.nodes().any(|node| {
            let item = node.item.swap(ptr::null_mut(), Ordering::AcqRel);
            // SAFETY: a pointer in a node comes from a box, and the caller that swaps it out owns it. Nothing frees
            // this one.
            unsafe { item.as_ref() }.is_some_and(&mut visit)
        })
    }

    fn nodes(&self) -> impl Iterator<Item = &'static Node<T>> {
        // SAFETY: nodes are leaked, so each pointer in the list is null or valid forever.
        let node = |pointer: &AtomicPtr<Node<T>>| unsafe { pointer.load(Ordering::Acquire).as_ref() };
        std::iter::successors(node(&self.first), move |last| node(&last.next))
    }
}

impl<T> Drop for Registration<T> {
    fn drop(&mut self) {
        let item = self.node.item.swap(ptr::null_mut(), Ordering::AcqRel);
        if !item.is_null() {
            // SAFETY: the pointer comes from a box, and swapping it out made this its only owner.
            drop(unsafe { Box::from_raw(item) });
            self.registry.removed.fetch_add(1, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_removed_items_are_used_again_and_items_are_taken_once() {
        static REGISTRY: Registry<u32> = Registry::new();
        let all = || {
            let mut items = Vec::new();
            REGISTRY.take(|&item| {
                items.push(item);
                false
            });
            items.sort_unstable();
            items
        };
        let one = REGISTRY.add(1);
        let _two = REGISTRY.add(2);
        drop(one);
        let _three = REGISTRY.add(3);
        assert_eq!(REGISTRY.nodes().count(), 2);
        assert_eq!(all(), [2, 3]);
        assert!(all().is_empty());
    }

    #[test]
    fn threads_add_and_remove_at_the_same_time() {
        static REGISTRY: Registry<usize> = Registry::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for item in 0..1000 {
                        let _registration = REGISTRY.add(thread * 1000 + item);
                    }
                });
            }
        });
        assert!(!REGISTRY.take(|_| true));
        assert!((1..=4).contains(&REGISTRY.nodes().count()));
    }
}
