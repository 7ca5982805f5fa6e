//! Compressed containers that follow each other in a section, restored several at a time.
//!
//! Of all that a scan does, restoring takes the longest, and in that the verification of the hash: MD5 cannot be divided,
//! but each container has one of its own. Programs for AMD's devices have a container for each source file, and libraries
//! thousands of them.

use std::collections::BTreeMap;

use crate::bytes::View;
use crate::codec::Limit;
use crate::error::Malformed;
use crate::format::{self, Compressed, Contents};
use crate::parallel::{in_parallel, processors};

/// What containers may become that are restored at a time. One that becomes more is restored alone.
const MEMORY: u64 = 64 << 20;

/// With less than this, threads cost more than they bring.
const LEAST: u64 = 256 << 10;

/// What has been restored and not been asked for yet, by where its stream begins.
#[derive(Default)]
pub struct Ahead(BTreeMap<u64, Result<Vec<u8>, Malformed>>);

impl Ahead {
    /// Sees to it that the compressed container at the start of `rest`, a section's rest, has been restored, together with
    /// those behind it; nothing is done for one that stands alone.
    pub fn restore(&mut self, name: Option<&str>, contents: &Contents<'_>, rest: View<'_>, limit: Limit) {
        let Contents::Compressed(first) = contents else { return };
        if self.0.contains_key(&first.stored.start()) {
            return;
        }
        self.0.clear();
        let all = following(name, rest, limit);
        let size: u64 = all.iter().map(|it| it.full_size).sum();
        if all.len() < 2 || size < LEAST {
            return;
        }
        let mut restored = Vec::new();
        in_parallel(&all, processors(), |it| it.restore(limit), &mut |result| restored.push(result));
        self.0 = all.iter().map(|it| it.stored.start()).zip(restored).collect();
    }

    /// What has become of this container, where it is known.
    pub fn take(&mut self, contents: &Contents<'_>) -> Option<Result<Vec<u8>, Malformed>> {
        match contents {
            Contents::Compressed(compressed) => self.0.remove(&compressed.stored.start()),
            Contents::Images(_) => None,
        }
    }
}

/// The compressed containers at the start of `rest`, as many as may be in memory at a time.
fn following<'data>(name: Option<&'data str>, mut rest: View<'data>, limit: Limit) -> Vec<Compressed<'data>> {
    let (mut all, mut left) = (Vec::new(), MEMORY.min(limit.0));
    while let Some(Ok(container)) = format::read_in_section(name, rest)
        && let Contents::Compressed(compressed) = container.contents
        && compressed.full_size <= left
    {
        left -= compressed.full_size;
        all.push(compressed);
        rest = rest.from(container.view.size());
        let padding = rest.data().iter().position(|&byte| byte != 0).map_or(rest.size(), |at| at as u64);
        rest = rest.from(padding);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Codec, Compression};
    use crate::content::Content;
    use crate::error::Cause;
    use crate::format::{bundle, ccob};

    fn container(image: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let full = bundle::write(&[("hipv4-amdgcn-amd-amdhsa--gfx906", image)], 1).unwrap().to_vec();
        let (content, how, mut stream) = (Content::from(&full[..]), Compression::new(Codec::Zstd), Vec::new());
        let written = ccob::compress(&content, how, ccob::Version::Three, &mut stream, &mut |_| ()).unwrap();
        ([written.header, stream].concat(), full)
    }

    #[test]
    fn containers_in_a_row_are_restored_together_and_the_broken_one_among_them_is_known() {
        let (mut containers, fulls): (Vec<_>, Vec<_>) = (1..5).map(|byte| container(&vec![byte; 200_000])).unzip();
        // The stored hash.
        containers[2][24] ^= 1;
        let section: Vec<u8> = containers.iter().flat_map(|it| [&it[..], &[0; 40]].concat()).collect();
        let (mut ahead, mut rest) = (Ahead::default(), View::new(&section));
        for (index, stored) in containers.iter().enumerate() {
            let contents = format::read(rest).unwrap().unwrap().contents;
            ahead.restore(None, &contents, rest, Limit::default());
            assert_eq!(ahead.0.len(), containers.len() - index, "restored once");
            match ahead.take(&contents).unwrap() {
                Ok(restored) => assert_eq!((restored, index == 2), (fulls[index].clone(), false)),
                Err(error) => assert!(index == 2 && matches!(error.cause, Cause::OtherHash { .. }), "{error}"),
            }
            rest = rest.from(stored.len() as u64 + 40);
        }
    }

    #[test]
    fn what_stands_alone_or_is_too_large_together_is_left_for_later() {
        let (one, _) = container(&vec![1; 300_000]);
        let two = [&one[..], &one].concat();
        for (section, limit) in [(&one, Limit::default()), (&two, Limit(500_000))] {
            let (mut ahead, view) = (Ahead::default(), View::new(section));
            let contents = format::read(view).unwrap().unwrap().contents;
            ahead.restore(None, &contents, view, limit);
            assert!(ahead.take(&contents).is_none());
        }
    }
}
