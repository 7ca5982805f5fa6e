//! Memory of buffers that are used again.

/// Returns the memory of a buffer beyond its first `kept` bytes to the system. The capacity stays, but the bytes there
/// are lost. An allocator would keep the memory of a dropped buffer, or use a part of it.
#[cfg(all(target_os = "linux", feature = "files"))]
pub fn release_beyond(buffer: &mut Vec<u8>, kept: usize) {
    use rustix::mm::{Advice, madvise};

    /// Multiple of the page sizes of all processors.
    const PAGES: usize = 64 << 10;
    let address = buffer.as_mut_ptr() as usize;
    let start = (address + kept.min(buffer.capacity())).checked_next_multiple_of(PAGES);
    let end = (address + buffer.capacity()) / PAGES * PAGES;
    let Some(offset) = start.filter(|&start| start < end).map(|start| start - address) else { return };
    let size = end - address - offset;
    // SAFETY: the pages are inside the allocation, and nothing else refers to it. They read as zeros afterwards, which
    // are valid bytes.
    let released = unsafe { madvise(buffer.as_mut_ptr().add(offset).cast(), size, Advice::LinuxDontNeed) };
    if released.is_err() {
        *buffer = Vec::new();
    }
}

/// Drops a buffer of more than `kept` bytes.
#[cfg(not(all(target_os = "linux", feature = "files")))]
pub fn release_beyond(buffer: &mut Vec<u8>, kept: usize) {
    if buffer.capacity() > kept {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_of_a_buffer_stay_and_the_rest_can_be_written_again() {
        for kept in [0, 1, 100_000, 1 << 20, 2 << 20] {
            let mut buffer = vec![7; 1 << 20];
            release_beyond(&mut buffer, kept);
            if cfg!(all(target_os = "linux", feature = "files")) {
                let first = buffer.iter().take_while(|&&byte| byte == 7).count();
                assert!((kept.min(buffer.len())..=kept + (64 << 10)).contains(&first), "{kept}: {first}");
                assert!(buffer[first..].iter().all(|&byte| byte == 0 || byte == 7));
            }
            buffer.clear();
            buffer.resize(2 << 20, 1);
            assert!(buffer.iter().all(|&byte| byte == 1));
        }
    }
}
