//! Archives without some of their members.

use super::{HEADER_SIZE, Member, members};
use crate::base::bytes::View;
use crate::base::content::Content;
use crate::base::error::{Cause, Malformed};
use crate::format::Fate;
use crate::format::ocloc_name::{MAGIC, NAME};

/// Alignment of the data of a member, in bytes.
const ALIGNMENT: u64 = 8;

/// Writes an archive again. `fates` has one fate for each member that holds code, in their order. An archive that
/// becomes smaller keeps its size: programs state the size, and the driver accepts nothing but members up to it. The
/// rest is padding.
pub fn write<'data>(view: View<'data>, fates: Vec<Fate<'data>>) -> Result<Content<'data>, Malformed> {
    let (members, size) = members(view)?;
    let mut archive = Archive { content: Content::from(&MAGIC[..]), paddings: 0 };
    let mut fates = fates.into_iter();
    for member in members.iter().filter(|member| !member.is_padding()) {
        match fates.next() {
            None | Some(Fate::Drop) => {}
            Some(Fate::Keep) => archive.add(member.name, Content::from(member.data.data())),
            Some(Fate::Replace(data)) => archive.add(member.name, replaced(member, data)?),
        }
    }
    match size.checked_sub(archive.content.size()).map(|left| left.checked_sub(HEADER_SIZE)) {
        Some(Some(left)) => archive.pad(left),
        Some(None) => archive.content.pad_to(size),
        None => {}
    }
    Ok(archive.content)
}

/// Images in ELF files of OpenCL are not replaced.
fn replaced<'data>(member: &Member<'_>, data: Content<'data>) -> Result<Content<'data>, Malformed> {
    if member.payload() == member.data {
        return Ok(data);
    }
    let cause = Cause::Described("an image in an ELF file of OpenCL cannot be replaced".to_owned());
    Err(member.data.malformed("ocloc archive member", 0, cause))
}

/// An archive in progress.
struct Archive<'data> {
    content: Content<'data>,
    /// Number of members that are padding.
    paddings: usize,
}

#[expect(clippy::arithmetic_side_effects, reason = "sizes of bytes in memory, and a number of members")]
impl<'data> Archive<'data> {
    /// Adds a member whose data is aligned.
    fn add(&mut self, name: &str, data: Content<'data>) {
        let start = self.content.size() + HEADER_SIZE;
        if !start.is_multiple_of(ALIGNMENT) {
            self.pad(ALIGNMENT - (start + HEADER_SIZE) % ALIGNMENT);
        }
        self.member(name, data);
    }

    fn pad(&mut self, size: u64) {
        let name = format!("pad_{}", self.paddings);
        self.paddings += 1;
        self.member(&name, Content::from(vec![0; size as usize]));
    }

    fn member(&mut self, name: &str, data: Content<'data>) {
        // A name that fills its field has no slash.
        let slash = if name.len() < NAME.len() { "/" } else { "" };
        let name = format!("{name}{slash}");
        let size = data.size();
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
        self.content.append(Content::from(header.into_bytes()));
        self.content.append(data);
        self.content.align(2);
    }
}
