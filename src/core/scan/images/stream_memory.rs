//! Memory for decompressed bytes that the threads of one file share.
//!
//! Libraries have images of 40 MB, often next to each other for several devices. A thread that would exceed the limit
//! waits for the others, so large images are in memory one at a time, regardless of the number of processors. Buffers
//! are reused, because new memory is mapped page by page, which takes as long as decompressing. Only the rest of a
//! large buffer is returned.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::base::bytes::total;
use crate::base::io::release_beyond;

/// Limit in bytes. A larger stream is only read when no other is being read.
const LIMIT: u64 = 56 << 20;

/// Bytes of each idle buffer that stay in memory.
const KEPT: usize = 8 << 20;

/// Buffers of the threads, and the number of bytes in use.
#[derive(Debug, Default)]
pub struct StreamMemory {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes in use. Files state the sizes, so the sum saturates; a stream that is too large waits to be the only one.
    taken: u64,
    /// Buffers that are not in use.
    idle: Vec<Vec<u8>>,
}

/// Memory for the streams that a thread reads. It is released on drop.
#[derive(Debug)]
pub struct Taken<'memory> {
    memory: &'memory StreamMemory,
    size: u64,
    /// Buffers. They grow if they are too small.
    pub buffers: Vec<Vec<u8>>,
}

impl StreamMemory {
    /// Waits until streams of `size` bytes fit next to the streams of other threads. 0 bytes always fit.
    pub fn take(&self, size: u64) -> Taken<'_> {
        let exceeds = |state: &mut State| state.taken > 0 && size > 0 && total([state.taken, size]) > LIMIT;
        let mut state = self.returned.wait_while(self.state(), exceeds).unwrap_or_else(PoisonError::into_inner);
        state.taken = total([state.taken, size]);
        let buffers = state.idle.pop().into_iter().collect();
        Taken { memory: self, size, buffers }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        for buffer in &mut self.buffers {
            release_beyond(buffer, KEPT);
        }
        let mut state = self.memory.state();
        state.taken = state.taken.saturating_sub(self.size);
        state.idle.append(&mut self.buffers);
        drop(state);
        self.memory.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn threads_take_no_more_than_the_limit_together() {
        const THREADS: u64 = 7;
        let memory = StreamMemory::default();
        let in_use = AtomicU64::new(0);
        let read = |thread: u64| {
            for round in 0..200 {
                let size = ((thread * 17 + round * 13) % 40) << 20;
                let taken = memory.take(size);
                let others = in_use.fetch_add(size, Ordering::SeqCst);
                assert!(others + size <= LIMIT, "{others} + {size}");
                in_use.fetch_sub(size, Ordering::SeqCst);
                drop(taken);
            }
        };
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || read(thread));
            }
        });
        assert_eq!(memory.state().taken, 0);
    }

    #[test]
    fn a_stream_beyond_the_limit_is_read_alone() {
        let memory = StreamMemory::default();
        let largest = memory.take(u64::MAX);
        // Images that are not compressed need no memory.
        drop(memory.take(0));
        drop(largest);
        let small = memory.take(1);
        thread::scope(|scope| {
            let large = scope.spawn(|| memory.take(LIMIT).size);
            drop(small);
            assert_eq!(large.join().unwrap(), LIMIT);
        });
    }

    #[test]
    fn buffers_are_used_again() {
        let memory = StreamMemory::default();
        let mut taken = memory.take(10);
        taken.buffers = vec![Vec::with_capacity(10)];
        drop(taken);
        let first = memory.take(5);
        let second = memory.take(5);
        assert_eq!((first.buffers.len(), second.buffers.len()), (1, 0));
    }
}
