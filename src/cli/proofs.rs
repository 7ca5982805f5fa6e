//! Proofs of changes that `check --proof` reads, and files that are compared with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::Deserialize;

use super::failure::{Context, Result, bail};
use crate::report::PROOF_SCHEMA;
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::base::error;
use fatbin_core::base::io::{Access, Input, is_same_file};
use fatbin_ops::check::ProofStatus;
use fatbin_ops::edit::hash_file;

/// Proofs, and the results for files that were compared with them.
#[derive(Debug, Default)]
pub struct Proofs {
    proofs: Vec<ProofFile>,
    /// Each file is hashed once, also if it has several members with device code.
    compared: Mutex<BTreeMap<PathBuf, Arc<OnceLock<ProofStatus>>>>,
}

#[derive(Debug)]
struct ProofFile {
    path: PathBuf,
    output: ProvenOutput,
}

/// Fields of a proof that the comparison reads.
#[derive(Debug, Deserialize)]
struct ProofJson {
    schema: String,
    output: ProvenOutput,
}

#[derive(Debug, Deserialize)]
struct ProvenOutput {
    path: String,
    sha256: String,
}

impl Proofs {
    /// Reads proofs.
    pub fn read(paths: &[PathBuf]) -> Result<Proofs> {
        let proofs = paths.iter().map(|path| ProofFile::read(path)).collect::<Result<_>>()?;
        Ok(Proofs { proofs, ..Proofs::default() })
    }

    /// Compares a file on disk with the proofs; `None` is standard input.
    pub fn compare(&self, path: Option<&Path>, access: Access) -> ProofStatus {
        let Some(path) = path else {
            return ProofStatus::Unknown { reason: "standard input is not a file; specify its path".to_owned() };
        };
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        let status = Arc::clone(compared.entry(path.to_owned()).or_default());
        drop(compared);
        status.get_or_init(|| self.hash_and_compare(path, access)).clone()
    }

    fn hash_and_compare(&self, path: &Path, access: Access) -> ProofStatus {
        if self.proofs.is_empty() {
            return ProofStatus::Missing;
        }
        let hash = match hash(path, access) {
            Ok(hash) => hash,
            Err(error) => return ProofStatus::Unknown { reason: error.to_string() },
        };
        if self.proofs.iter().any(|proof| proof.output.sha256 == hash) {
            return ProofStatus::Proven;
        }
        match self.proofs.iter().find(|proof| is_same_file(Path::new(&proof.output.path), path)) {
            Some(proof) => ProofStatus::Differs { proof: proof.path.to_string_lossy().into_owned() },
            None => ProofStatus::Missing,
        }
    }
}

impl ProofFile {
    fn read(path: &Path) -> Result<ProofFile> {
        let input = Input::open(path, Access::read())?;
        let proof: ProofJson = serde_json::from_slice(input.view().data())
            .with_context(|| format!("{}: not a proof of a change", path.display()))?;
        if proof.schema != PROOF_SCHEMA {
            bail!("{}: schema: {:?}, expected {PROOF_SCHEMA:?}", path.display(), proof.schema);
        }
        Ok(ProofFile { path: path.to_owned(), output: proof.output })
    }
}

/// Hash of a file as hexadecimal digits.
fn hash(path: &Path, access: Access) -> error::Result<String> {
    let input = Input::open_file(path.to_owned(), access)?;
    let hash = hash_file(&input)?;
    input.check_unchanged()?;
    Ok(hexadecimal(&hash))
}
