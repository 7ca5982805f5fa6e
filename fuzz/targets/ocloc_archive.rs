//! Reads arbitrary bytes as an archive of ocloc, and writes it without some of its members, which keeps its size.

#![no_main]

use fatbin::View;
use fatbin_core::format::Fate;
use fatbin_core::format::ocloc_archive::{Member, container, members, write};
use fatbin_fuzz::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, |view| container(None, None, view));
    let Ok((all, size)) = members(View::new(data)) else { return };
    let code: Vec<&Member<'_>> = all.iter().filter(|member| !member.is_padding()).collect();
    for first in [0, 1] {
        let fate = |index: usize| if index % 2 == first { Fate::Drop } else { Fate::Keep };
        let written =
            write(View::new(data), (0..code.len()).map(fate).collect()).expect("nothing is replaced").to_vec();
        let (left, written_size) = members(View::new(&written)).expect("a written archive can be read");
        let left = left.iter().filter(|member| !member.is_padding()).map(|member| member.data.data());
        let kept =
            code.iter().enumerate().filter(|(index, _)| index % 2 != first).map(|(_, member)| member.data.data());
        assert!(left.eq(kept));
        assert!(written_size <= written.len() as u64 && (written.len() as u64 == size || written_size > size));
    }
});
