//! Fingerprints that let other programs recognize a finding in the next run.

use sha2::{Digest, Sha256};

use fatbin_core::base::bytes::hexadecimal;
use fatbin_ops::check::Finding;

/// Returns a fingerprint that stays the same in a later build, where offsets and sizes differ.
pub fn fingerprint(finding: &Finding) -> String {
    let mut hash = Sha256::new();
    let arch = finding.image.as_ref().and_then(|image| image.arch.as_deref());
    let parts = [Some(finding.rule.name()), Some(&finding.path), arch, finding.kernel.as_deref()];
    for part in parts {
        hash.update(part.unwrap_or_default());
        hash.update([0]);
    }
    let words = finding.message.split_whitespace().filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    for word in words {
        hash.update(word);
    }
    hexadecimal(&hash.finalize()[..16])
}
