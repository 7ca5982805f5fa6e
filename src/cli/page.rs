//! The page of `--html`.

use std::path::Path;

use anyhow::Result;

use crate::check::Verdict;
use crate::io::Output;
use crate::report;
use crate::survey::SurveyedFile;

/// Writes the page of files, and of what a check said of them.
pub fn write(path: &Path, files: &[&SurveyedFile], verdict: Option<&Verdict>) -> Result<()> {
    let mut output = Output::create(path)?;
    output.write(report::page(files, verdict).as_bytes())?;
    Ok(output.commit()?)
}
