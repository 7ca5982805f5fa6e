//! Signatures in files: what a change of a file breaks.
//!
//! One table has every kind. Signatures that are separate files are not in it: detached ones of GPG or Sigstore, `.idsig`
//! files, whose APK has a signing block too, catalogs of Windows, and `_CodeSignature` of a directory. Nor are packages
//! that no edit changes: RPM, squashfs, and an AppImage with its file system.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod attribute;
pub mod code_signature;
mod elf;
mod names;
mod pe;
mod zip;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::path::Path;

use crate::base::archive::Member;
use crate::base::bytes::View;

/// A kind of signature, and what shows that a file has one.
#[derive(Debug)]
struct Kind {
    /// Name in messages.
    name: &'static str,
    mark: Mark,
}

/// What shows that a file is signed.
#[derive(Debug)]
enum Mark {
    /// A structure in a file that is not an archive.
    File(fn(View<'_>) -> Option<Removal>),
    /// Code directories of the Mach-O files that change.
    CodeDirectories,
    /// A zip file has a member with a name like one of these.
    ZipMember(&'static [&'static str]),
    /// A structure in a zip file, outside of all members. The number is the offset of the central directory.
    Zip(fn(View<'_>, u64) -> bool),
    /// An `ar` archive has a member with a name like one of these.
    ArMember(&'static [&'static str]),
    /// An extended attribute has a value of one of these types, which the first byte states.
    Attribute { name: &'static str, types: &'static [u8] },
}

/// How a signature is removed. Tools that sign replace signatures of the other kinds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removal {
    /// Bytes that become zeros.
    pub zeros: Vec<Range<u64>>,
    /// Bytes at the end of the file.
    pub cut: Option<Range<u64>>,
}

/// A change of a file.
#[derive(Debug)]
pub struct Change {
    /// Spans of bytes that change.
    pub spans: Vec<Range<u64>>,
    /// True if no byte moves.
    pub keeps_offsets: bool,
}

const KINDS: &[Kind] = &[
    // Source: Microsoft, PE Format, attribute certificate table.
    Kind { name: "Authenticode", mark: Mark::File(pe::certificates) },
    // Source: ECMA-335, II.6.2.1.3 and II.25.3.3.
    Kind { name: "strong name", mark: Mark::File(pe::strong_name) },
    // Source: Apple, mach-o/loader.h; xnu, osfmk/kern/cs_blobs.h.
    Kind { name: "LC_CODE_SIGNATURE", mark: Mark::CodeDirectories },
    // Source: Linux, include/linux/module_signature.h.
    Kind { name: "module signature", mark: Mark::File(elf::module_signature) },
    // Source: AppImage specification, 2.0, "Digital signature"; Oracle Solaris, elfsign(1).
    Kind { name: "ELF section", mark: Mark::File(elf::signature_section) },
    // Source: Oracle, JAR File Specification, "Signed JAR File". APK's version 1 is the same.
    Kind {
        name: "jar",
        mark: Mark::ZipMember(&[
            "META-INF/*.SF",
            "META-INF/*.RSA",
            "META-INF/*.DSA",
            "META-INF/*.EC",
            "META-INF/SIG-*",
        ]),
    },
    // Source: Android, "APK Signature Scheme v2". Versions 3 and 3.1 are further blocks.
    Kind { name: "APK Signing Block", mark: Mark::Zip(zip::has_signing_block) },
    // Source: Android, bootable/recovery, install/verifier.cpp.
    Kind { name: "SignApk footer", mark: Mark::Zip(zip::has_footer) },
    // Source: PyPA, Binary distribution format, "Signed wheel files".
    Kind { name: "RECORD of a wheel", mark: Mark::ZipMember(&["*.dist-info/RECORD.jws", "*.dist-info/RECORD.p7s"]) },
    // Source: NuGet, "Package signatures technical specification". Extensions of Visual Studio Code have the same file.
    Kind { name: ".signature.p7s", mark: Mark::ZipMember(&[".signature.p7s"]) },
    // Source: Microsoft, [MS-APPX], AppxSignature.p7x and AppxBlockMap.xml. Windows installs no package whose members
    // differ from the block map, with a signature or without.
    Kind { name: "MSIX", mark: Mark::ZipMember(&["AppxSignature.p7x"]) },
    Kind { name: "block map of MSIX", mark: Mark::ZipMember(&["AppxBlockMap.xml"]) },
    // Source: ECMA-376, part 2, "Digital signatures"; the directories are those of System.IO.Packaging and of Office.
    Kind {
        name: "OPC digital signature",
        mark: Mark::ZipMember(&["package/services/digital-signature/**", "_xmlsignatures/**"]),
    },
    // Source: Mozilla, "Signing of add-ons": RFC 8152 next to the signature of a jar.
    Kind { name: "COSE", mark: Mark::ZipMember(&["META-INF/cose.sig"]) },
    // Source: Apple, Technical Note TN2206, "Code signature files".
    Kind { name: "_CodeSignature", mark: Mark::ZipMember(&["**/_CodeSignature/CodeResources"]) },
    // Source: debsigs 0.1, "_gpg" and the role; dpkg-sig has the same names.
    Kind { name: "debsigs", mark: Mark::ArMember(&["_gpg*"]) },
    // Source: Linux, security/integrity/integrity.h, evm_ima_xattr_type. Hashes, which the kernel itself writes, have
    // other types.
    Kind { name: "security.ima", mark: Mark::Attribute { name: "security.ima", types: &[3, 6] } },
    Kind { name: "security.evm", mark: Mark::Attribute { name: "security.evm", types: &[3, 5] } },
];

/// A signature that a change breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    name: &'static str,
    removal: Removal,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Signature {
    /// Returns the signature of a file that is not an archive. A Mach-O file may have signatures that are renewed
    /// instead, see [`code_signature`].
    pub fn of_file(view: View<'_>, change: &Change) -> Option<Signature> {
        found(|mark| match mark {
            Mark::File(removal) => removal(view),
            Mark::CodeDirectories => code_signature::is_broken(view, change).then(Removal::default),
            _ => None,
        })
    }

    /// Returns the signature of a zip file with these members, and with its central directory at an offset.
    pub fn of_zip(view: View<'_>, members: &[Member<'_>], directory: u64) -> Option<Signature> {
        found(|mark| {
            let is_signed = match mark {
                Mark::ZipMember(patterns) => names::has_name_like(members, patterns),
                Mark::Zip(is_signed) => is_signed(view, directory),
                _ => false,
            };
            is_signed.then(Removal::default)
        })
    }

    /// Returns the signature of an `ar` archive with these members.
    pub fn of_ar(members: &[Member<'_>]) -> Option<Signature> {
        found(|mark| match mark {
            Mark::ArMember(patterns) => names::has_name_like(members, patterns).then(Removal::default),
            _ => None,
        })
    }

    /// Returns the signature in the extended attributes of the file at a path.
    pub fn of_attributes(path: &Path) -> Option<Signature> {
        found(|mark| match mark {
            Mark::Attribute { name, types } => attribute::has_type(path, name, types).then(Removal::default),
            _ => None,
        })
    }

    /// Removal of the signature; empty if only a tool that signs replaces it.
    pub fn removal(&self) -> &Removal {
        &self.removal
    }
}

/// Returns the first kind whose mark `removal` finds.
fn found(removal: impl Fn(&Mark) -> Option<Removal>) -> Option<Signature> {
    KINDS.iter().find_map(|kind| Some(Signature { name: kind.name, removal: removal(&kind.mark)? }))
}
