//! What compressed containers were restored to, kept from a scan until their images are taken out.
//!
//! Scans that nobody takes images out after keep nothing; see [`Options::keep`](super::Options).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much may be kept in all, of all files together. What is more is restored again.
static LEFT: AtomicU64 = AtomicU64::new(128 << 20);

/// Restored bytes of one file, by where their streams begin.
#[derive(Default)]
pub struct Kept(Mutex<BTreeMap<u64, Vec<u8>>>);

impl Kept {
    /// Keeps bytes if there is room for them.
    pub(super) fn put(&self, start: u64, bytes: Vec<u8>) {
        let size = bytes.capacity() as u64;
        let has_room = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(size));
        if has_room.is_ok() {
            give_back(self.0.lock().expect("nobody panics with it").insert(start, bytes));
        }
    }

    /// The bytes, which are then kept no longer.
    pub(super) fn take(&self, start: u64) -> Option<Vec<u8>> {
        let bytes = self.0.lock().expect("nobody panics with it").remove(&start);
        give_back(bytes.as_ref());
        bytes
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        give_back(self.0.get_mut().expect("nobody panics with it").values());
    }
}

fn give_back(bytes: impl IntoIterator<Item = impl std::borrow::Borrow<Vec<u8>>>) {
    let size: usize = bytes.into_iter().map(|bytes| bytes.borrow().capacity()).sum();
    LEFT.fetch_add(size as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_bytes_are_given_out_once_and_what_there_is_no_room_for_is_not_kept() {
        let kept = Kept::default();
        kept.put(7, b"restored".to_vec());
        kept.put(8, Vec::with_capacity(200 << 20));
        assert_eq!((kept.take(7), kept.take(7), kept.take(8)), (Some(b"restored".to_vec()), None, None));
    }
}
