//! `diff --lost`: what the new build lacks, the worst first.

use super::cells::{MAX_ROWS, left_out};
use crate::report::Screen;
use crate::report::text::{counted, paragraph, printable};
use fatbin_ops::check::lock::{LockedKernel, LockedTarget, Lost};

/// Number of kernels that a line names.
const NAMED: usize = 3;

/// Returns the losses as lines that end in a newline; with `has_all`, every kernel.
pub fn lost_text(lost: &[Lost<'_>], has_all: bool, screen: &Screen) -> String {
    if lost.is_empty() {
        return "nothing is lost\n".to_owned();
    }
    let shown = if has_all { usize::MAX } else { MAX_ROWS };
    let mut text = format!("{} lost\n", counted(lost.len(), "part"));
    for part in lost.iter().take(shown) {
        text += &paragraph(&format!("{}: {}", printable(part.path()), describe(part, has_all)), screen);
    }
    text + &left_out(lost.len(), shown, "part")
}

fn describe(part: &Lost<'_>, has_all: bool) -> String {
    let kernels = counted(part.kernels(), "kernel");
    match part {
        Lost::File(file) => format!("the file is gone, {}, {kernels}", counted(file.images.len(), "image")),
        Lost::Target { target, .. } => format!("no code for {}, {kernels}", name(target)),
        Lost::Kernels { target, kernels: lost, .. } => {
            format!("{}: {kernels} gone: {}", name(target), names(lost, has_all))
        }
    }
}

fn name(target: &LockedTarget) -> String {
    let arch = target.arch.as_deref().or(target.triple.as_deref()).unwrap_or("an unknown target");
    let image = if target.image == "elf" { String::new() } else { format!(" ({})", target.image) };
    format!("{}{image}", printable(arch))
}

fn names(kernels: &[&LockedKernel], has_all: bool) -> String {
    let shown = if has_all { usize::MAX } else { NAMED };
    let mut names: Vec<String> = kernels
        .iter()
        .take(shown)
        .map(|kernel| printable(kernel.name.demangled().unwrap_or(kernel.name.as_str())))
        .collect();
    if let Some(more @ 1..) = kernels.len().checked_sub(names.len()) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
