//! Changes of signed files. A change that breaks a signature is refused unless it is requested; then the signature is
//! removed, if that is possible. Ad hoc signatures of Mach-O files are renewed, and so is the checksum of a PE file.
//!
//! Source: Microsoft, PE Format (`CheckSum`).

use std::io::{self, Write};
use std::ops::{Deref, Range};
use std::path::Path;

use super::patch::{Part, Patch, Patches};
use super::{EditError, Result};
use fatbin_core::base::archive::{ArchiveFormat, MemberContent};
use fatbin_core::base::bytes::{MAX_NESTING, Resource, View};
use fatbin_core::base::content::Content;
use fatbin_core::base::error::Malformed;
use fatbin_core::base::io::Sink;
use fatbin_core::base::pe_layout;
use fatbin_core::base::range::{moved, range_at};
use fatbin_core::base::signature::{Change, Signature, code_signature};

/// Patches of a file or an archive whose signatures were looked for. Outputs are written from these only.
#[derive(Debug, Default)]
pub struct CheckedPatches<'data> {
    patches: Patches<'data>,
    /// Spans of the patches that the check added.
    added: Vec<Range<u64>>,
}

/// The signatures that an edit meets.
#[derive(Debug)]
pub struct Signatures {
    treatment: Treatment,
    /// Paths of the files whose signatures the edit breaks, with these.
    pub broken: Vec<(String, Signature)>,
    /// Paths of the files whose ad hoc signatures are renewed.
    pub renewed: Vec<String>,
}

/// Treatment of signatures that a change breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// The change is an error.
    Refused,
    /// The signature is removed, if that is possible.
    Removed,
    /// The signature stays, and is invalid.
    Left,
}

impl<'data> CheckedPatches<'data> {
    /// Returns the patches that restore a file, whose signature is valid again.
    pub fn restoring(patches: Patches<'data>) -> Self {
        CheckedPatches { patches, added: Vec::new() }
    }

    /// Appends the patched file to a sink.
    pub fn push_to(&self, file: View<'data>, sink: &mut Sink<'_>) {
        for part in self.patches.parts(file) {
            match part {
                Part::Kept(bytes) => sink.push(bytes),
                Part::New(content) => content.runs().for_each(|run| sink.push(run)),
                Part::Zeros(size) => sink.push_zeros(size),
            }
        }
    }

    /// Returns the patches of a file that contains this one at an offset.
    pub fn shifted(self, offset: u64) -> impl Iterator<Item = Patch<'data>> {
        self.patches.shifted(offset)
    }

    /// Spans that the check added to the change.
    pub fn added(&self) -> &[Range<u64>] {
        &self.added
    }
}

impl<'data> Deref for CheckedPatches<'data> {
    type Target = Patches<'data>;

    fn deref(&self) -> &Patches<'data> {
        &self.patches
    }
}

impl Signatures {
    /// Starts an edit.
    pub fn new(treatment: Treatment) -> Self {
        Signatures { treatment, broken: Vec::new(), renewed: Vec::new() }
    }

    /// Checks the change of a file that is not an archive.
    pub fn check_file<'data>(
        &mut self,
        path: &str,
        view: View<'data>,
        patches: Patches<'data>,
    ) -> Result<CheckedPatches<'data>> {
        if patches.is_empty() {
            return Ok(CheckedPatches::default());
        }
        let change = Change {
            spans: patches.iter().map(|patch| patch.span.clone()).collect(),
            keeps_offsets: patches.iter().all(|patch| patch.new_size() == patch.old_size()),
        };
        let signature = Signature::of_file(view, &change);
        if let Some(signature) = &signature {
            self.breaks(path, signature)?;
        }
        let in_file = |error: Malformed| error.in_file(Path::new(path));
        let mut all: Vec<Patch<'data>> = patches.iter().cloned().collect();
        if self.treatment == Treatment::Removed {
            all.extend(signature.iter().flat_map(removal));
        }
        let hashes = renewed_hashes(view, &patches, &change).map_err(in_file)?;
        if !hashes.is_empty() {
            self.renewed.push(path.to_owned());
        }
        all.extend(hashes);
        all.extend(checksum(view, &all).map_err(in_file)?);
        let added = all.iter().skip(change.spans.len()).map(|patch| patch.span.clone()).collect();
        let patches = Patches::new(all).ok_or(EditError::Overlap)?;
        Ok(CheckedPatches { patches, added })
    }

    /// Checks the change of an archive.
    pub fn check_archive<'data>(
        &mut self,
        path: &str,
        signature: Option<Signature>,
        patches: Patches<'data>,
    ) -> Result<CheckedPatches<'data>> {
        if let Some(signature) = signature
            && !patches.is_empty()
        {
            self.breaks(path, &signature)?;
        }
        Ok(CheckedPatches { patches, added: Vec::new() })
    }

    /// Checks a change that moves no byte of a file, of a static library or of a member of one.
    pub fn check_in_place<'data>(
        &mut self,
        path: &str,
        view: View<'data>,
        patches: Patches<'data>,
    ) -> Result<CheckedPatches<'data>> {
        self.check_members(path, view, patches, MAX_NESTING)
    }

    fn check_members<'data>(
        &mut self,
        path: &str,
        view: View<'data>,
        patches: Patches<'data>,
        levels: usize,
    ) -> Result<CheckedPatches<'data>> {
        let format = ArchiveFormat::of(view).filter(|format| format.is_library());
        let (Some(format), Some(inner)) = (format, levels.checked_sub(1)) else {
            return self.check_file(path, view, patches);
        };
        let members = format.members(view).members;
        let checked = self.check_archive(path, Signature::of_ar(&members), patches)?;
        let mut rest = checked.patches.into_iter().peekable();
        let mut all = Vec::new();
        let mut added = Vec::new();
        for member in members {
            let MemberContent::Here(file) = member.content else { continue };
            let Range { start, end } = file.range_in(view);
            let own = std::iter::from_fn(|| rest.next_if(|patch| patch.span.end <= end));
            let own = own.map(|patch| patch.moved_back(start)).collect::<Option<Vec<_>>>();
            let own = own.and_then(Patches::new).ok_or(EditError::Overlap)?;
            let path = format!("{path}!{}", member.name.unwrap_or_default());
            let own = self.check_members(&path, file, own, inner)?;
            added.extend(own.added.iter().map(|span| moved(span, start)));
            all.extend(own.shifted(start));
        }
        let patches = Patches::new(all).filter(|_| rest.next().is_none()).ok_or(EditError::Overlap)?;
        Ok(CheckedPatches { patches, added })
    }

    /// Checks that the file at a path, which a new file replaces, has no signature in its attributes.
    pub fn check_replaced(&mut self, path: &Path) -> Result<()> {
        match Signature::of_attributes(path) {
            Some(signature) => self.breaks(&path.to_string_lossy(), &signature),
            None => Ok(()),
        }
    }

    /// Records a signature that the edit breaks. It is an error if that was not requested.
    fn breaks(&mut self, path: &str, signature: &Signature) -> Result<()> {
        if self.treatment == Treatment::Refused {
            return Err(EditError::Signed { path: path.into(), signature: signature.clone() });
        }
        self.broken.push((path.to_owned(), signature.clone()));
        Ok(())
    }
}

/// Returns the patches that remove a signature, if that is possible.
fn removal<'data>(signature: &Signature) -> impl Iterator<Item = Patch<'data>> {
    let removal = signature.removal();
    let zeros = removal.zeros.iter().filter_map(|range| Patch::in_place(range.clone(), Content::new()));
    let cut = removal.cut.clone().map(|range| Patch::resizing(range, Content::new()));
    zeros.chain(cut)
}

/// Returns the patches of the hashes of changed pages in ad hoc signatures.
fn renewed_hashes<'data>(
    view: View<'data>,
    patches: &Patches<'data>,
    change: &Change,
) -> Result<Vec<Patch<'data>>, Malformed> {
    let mut renewed = Vec::new();
    for directory in code_signature::renewed(view, change) {
        let mut hasher = directory.hasher_in(view)?;
        patches.copy_to(view, &mut hasher).expect("hashes can be computed");
        let hashes = Content::from(hasher.finish());
        renewed.extend(Patch::in_place(directory.stored_in(view), hashes));
    }
    Ok(renewed)
}

/// Number of bytes that are summed in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// Returns the patch of the checksum of a PE file with these patches, if the file states one.
fn checksum<'data>(view: View<'data>, patches: &[Patch<'data>]) -> Result<Option<Patch<'data>>, Malformed> {
    let Some(place) = checksum_place(view) else { return Ok(None) };
    let zeros = Patch::in_place(place.clone(), Content::new());
    let Some(without) = Patches::new(patches.iter().cloned().chain(zeros).collect()) else { return Ok(None) };
    view.charge("PE checksum", Resource::Work, view.size() / BYTES_PER_STEP)?;
    let mut checksum = Checksum::default();
    without.copy_to(view, &mut checksum).expect("a sum can be computed");
    Ok(Patch::in_place(place, Content::from(checksum.finish().to_le_bytes().to_vec())))
}

/// Returns the place of the checksum of a PE file, if it states one.
fn checksum_place(view: View<'_>) -> Option<Range<u64>> {
    let checksum = pe_layout::optional_header(view)?.from(pe_layout::CHECKSUM);
    let stated = checksum.u32("PE checksum", 0).ok()?;
    (stated != 0).then(|| range_at(checksum.range_in(view).start, 4))
}

/// The checksum of PE files: the sum of all 16-bit numbers with the carry added, and the size.
#[derive(Debug, Default)]
struct Checksum {
    sum: u64,
    size: u64,
}

impl Checksum {
    fn finish(self) -> u32 {
        let mut sum = self.sum;
        while sum > 0xffff {
            sum = [sum & 0xffff, sum >> 16].iter().sum();
        }
        // The field has 32 bits.
        sum.wrapping_add(self.size) as u32
    }
}

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            let is_high = !self.size.is_multiple_of(2);
            let value = if is_high { u64::from(byte) << 8 } else { byte.into() };
            self.sum = self.sum.wrapping_add(value);
            self.size = self.size.wrapping_add(1);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use object::pe::IMAGE_NT_OPTIONAL_HDR64_MAGIC;

    use super::*;

    /// Returns a PE file: a header and `body`, with a checksum, and a table of certificates after it.
    pub fn pe(body: &[u8], certificates: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0_u8; 0x200];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        let optional = 0x80 + 24;
        bytes[optional..optional + 2].copy_from_slice(&IMAGE_NT_OPTIONAL_HDR64_MAGIC.to_le_bytes());
        bytes[optional + 64..optional + 68].copy_from_slice(&0x1234_u32.to_le_bytes());
        bytes[optional + 108] = 16;
        bytes.extend(body);
        if !certificates.is_empty() {
            let start = (bytes.len() as u32).to_le_bytes();
            bytes[optional + 144..optional + 148].copy_from_slice(&start);
            bytes[optional + 148..optional + 152].copy_from_slice(&(certificates.len() as u32).to_le_bytes());
            bytes.extend(certificates);
        }
        bytes
    }

    fn changed(bytes: &[u8], span: Range<u64>, treatment: Treatment) -> Result<(Vec<u8>, Signatures)> {
        let view = View::new(bytes);
        let content = Content::from(vec![1; (span.end - span.start) as usize]);
        let patches = Patches::new(vec![Patch::in_place(span, content).unwrap()]).unwrap();
        let mut signatures = Signatures::new(treatment);
        let checked = signatures.check_file("file", view, patches)?;
        let mut sink = Sink::new([]);
        checked.push_to(view, &mut sink);
        let mut written = Vec::new();
        sink.copy_to(&mut written).unwrap();
        assert_eq!(written, checked.to_vec(view));
        Ok((written, signatures))
    }

    #[test]
    fn the_table_of_certificates_is_removed_and_the_checksum_is_right() {
        let signed = pe(&[7; 99], &[9; 64]);
        let (result, signatures) = changed(&signed, 0x200..0x210, Treatment::Removed).unwrap();
        assert_eq!(signatures.broken[0].1.to_string(), "Authenticode");
        let (again, signatures) = changed(&result, 0x200..0x210, Treatment::Refused).unwrap();
        assert!(again == result && signatures.broken.is_empty());
        let mut expected = pe(&[&[1; 16][..], &[7; 83]].concat(), &[]);
        let place = 0x80 + 24 + 64;
        // The sum of the words with the carry, and the size.
        expected[place..place + 4].fill(0);
        let words = expected.chunks(2).map(|word| u64::from(word[0]) | u64::from(*word.get(1).unwrap_or(&0)) << 8);
        let sum = words.fold(0_u64, |sum, word| {
            let sum = sum + word;
            (sum & 0xffff) + (sum >> 16)
        });
        let checksum = (sum as u32 + expected.len() as u32).to_le_bytes();
        expected[place..place + 4].copy_from_slice(&checksum);
        assert!(result == expected);
    }

    #[test]
    fn truncated_and_damaged_files_do_not_panic() {
        let signed = pe(&[7; 99], &[9; 64]);
        for at in 0..signed.len() {
            let mut damaged = signed.clone();
            damaged[at] ^= 0xff;
            let _ = changed(&damaged, 0x200..0x210, Treatment::Removed);
        }
    }
}
