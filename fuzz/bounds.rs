//! Bounds on the memory and the time of a target, proportional to the size of its input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use fatbin_core::base::parallel::with_threads;

/// Memory of any input, in bytes: decompressors have windows, and reports headers.
const BASE_MEMORY: usize = 96 << 20;
/// Memory for each byte of an input.
const MEMORY_PER_BYTE: usize = 4096;
/// Processor time of any input, in nanoseconds, with the checks of a debug build and the address sanitizer.
const BASE_TIME: u64 = 2_000_000_000;
/// Processor time for each byte of an input.
const TIME_PER_BYTE: u64 = 500_000;

/// The system's allocator, which counts the bytes in use.
struct Counter;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTER: Counter = Counter;

// SAFETY: every call is forwarded; counting allocates nothing.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count(size: usize) {
    let in_use = IN_USE.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(in_use, Ordering::Relaxed);
}

/// Runs a target on an input of `size` bytes, and fails if it needs more memory or processor time than the input may cost.
pub fn bounded(size: usize, run: impl FnOnce()) {
    let before = IN_USE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let started = processor_time();
    // The leak sanitizer finds memory that a thread frees after the result of its work is there.
    with_threads(NonZero::<usize>::MIN, run);
    let memory = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let allowed = BASE_MEMORY + size * MEMORY_PER_BYTE;
    assert!(memory <= allowed, "{size} bytes of input take {memory} bytes of memory, at most {allowed}");
    let time = processor_time() - started;
    let allowed = BASE_TIME + size as u64 * TIME_PER_BYTE;
    assert!(time <= allowed, "{size} bytes of input take {time} ns of processor time, at most {allowed}");
}

/// Returns the processor time of the process in nanoseconds. Other processes do not affect it.
fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives for the call.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the clock of the process is not available");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
