//! The lines of `split`: the files that were written.

use super::Screen;
use super::text::{counted, printable};
use fatbin_ops::edit::split::SplitFile;

/// Returns a line for each file.
pub fn split_text(files: &[SplitFile], screen: &Screen) -> String {
    let line = |(number, file): (usize, &SplitFile)| {
        let path = printable(&file.path.to_string_lossy());
        let size = screen.bytes(file.size);
        if file.archs.is_empty() {
            let contents = if number == 0 { "without device code" } else { "headers of containers" };
            return format!("{path}: {size}, {contents}\n");
        }
        let archs: Vec<String> = file.archs.iter().map(|arch| printable(arch)).collect();
        format!("{path}: {size}, {} for {}\n", counted(file.images, "image"), archs.join(", "))
    };
    files.iter().enumerate().map(line).collect()
}
