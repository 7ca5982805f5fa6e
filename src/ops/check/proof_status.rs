//! Comparison of a file with the proofs of changes.

/// Result of comparing a file on disk with the proofs of changes. A member of an archive has the status of the archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProofStatus {
    /// No proof names the file, and none has its hash.
    #[default]
    Missing,
    /// The file is the result of a proven change.
    Proven,
    /// A proof names the file, and the hash of the result is another.
    Differs {
        /// Path of the proof.
        proof: String,
    },
    /// The file cannot be hashed.
    Unknown {
        /// Reason why it cannot be hashed.
        reason: String,
    },
}
