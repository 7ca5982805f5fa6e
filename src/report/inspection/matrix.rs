//! The matrix of kernels and architectures as a table.

use crate::report::Screen;
use crate::report::text::{Column, columns, counted, printable};
use crate::survey::{KernelMatrix, MatrixCell, MatrixColumn, UninspectedImages};

/// Returns the matrix as a table.
pub fn matrix_table(matrix: &KernelMatrix, screen: &Screen) -> String {
    let (kernels, archs) = (counted(matrix.rows.len(), "kernel"), counted(matrix.archs.len(), "arch"));
    let incomplete = matrix.rows.iter().filter(|row| row.missing() > 0).count();
    let mut text = match incomplete {
        0 => format!("{kernels}, {archs}, nothing missing\n"),
        _ => format!("{kernels}, {archs}, {} missing for some archs\n", counted(incomplete, "kernel")),
    };
    if !matrix.rows.is_empty() {
        let heading = |arch: &MatrixColumn| Column::left(&printable(&arch.label));
        let headings: Vec<Column> = matrix.archs.iter().map(heading).chain([Column::left("KERNEL")]).collect();
        let rows = matrix.rows.iter().map(|row| {
            let mark = |cell: &MatrixCell| match cell {
                MatrixCell::Present => "yes".to_owned(),
                MatrixCell::Missing => "-".to_owned(),
                MatrixCell::NotApplicable => String::new(),
            };
            let marks = row.cells.iter().map(mark);
            let name = printable(row.demangled.as_ref().unwrap_or(&row.name));
            marks.chain([name]).collect()
        });
        text += &columns(&headings, rows, screen);
    }
    for (UninspectedImages { arch, reason }, images) in &matrix.not_inspected {
        text += &format!("  not inspected: {} ({}): {reason}\n", printable(arch), counted(*images, "image"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ImageKind;
    use crate::inspect::{Inspection, Kernel};
    use crate::inventory::{File, Image};
    use crate::survey::{InspectedFile, InspectedImage};

    fn image(image_kind: ImageKind, triple: &str, arch: &str) -> Image {
        Image { image_kind, triple: Some(triple.to_owned()), arch: Some(arch.to_owned()), ..Image::default() }
    }

    fn inspected<'a>(image: &'a Image, kernels: &[&str]) -> InspectedImage<'a> {
        let kernel = |name: &&str| Kernel { name: (*name).to_owned(), ..Default::default() };
        let kernels = kernels.iter().map(kernel).collect();
        InspectedImage { number: 0, image, inspection: Inspection { kernels, ..Default::default() } }
    }

    #[test]
    fn marks_kernels_missing_for_an_arch_of_their_triple() {
        let images = [
            image(ImageKind::Elf, "nvptx64-nvidia-cuda", "sm_90"),
            image(ImageKind::Elf, "nvptx64-nvidia-cuda", "sm_100"),
            image(ImageKind::Ptx, "nvptx64-nvidia-cuda", "sm_100"),
            image(ImageKind::Elf, "amdgcn-amd-amdhsa", "gfx90a"),
            image(ImageKind::Nvvm, "nvptx64-nvidia-cuda", "sm_90"),
        ];
        let names: [&[&str]; 5] = [&["a", "b"], &["a"], &["a", "b"], &["c"], &[]];
        let mut images: Vec<InspectedImage> =
            images.iter().zip(names).map(|(image, names)| inspected(image, names)).collect();
        images[4].inspection.not_inspected = Some("NVVM");
        let file = File::empty("lib".to_owned());
        // A second copy of the image in another file does not change the matrix.
        let again = InspectedFile { file: &file, images: vec![images[0].clone()] };
        let matrix = KernelMatrix::from_files(&[InspectedFile { file: &file, images }, again]);
        let text = "\
3 kernels, 4 archs, 1 kernel missing for some archs
  gfx90a  sm_90  sm_100  sm_100 ptx  KERNEL
          yes    -       yes         b
          yes    yes     yes         a
  yes                                c
  not inspected: sm_90 nvvm (1 image): NVVM
";
        assert_eq!(matrix_table(&matrix, &Screen::default()), text);
        let b = &matrix.rows[0];
        assert_eq!(matrix.archs_with(b, MatrixCell::Missing).collect::<Vec<_>>(), ["sm_100"]);
        assert_eq!(matrix.archs_with(b, MatrixCell::Present).collect::<Vec<_>>(), ["sm_90", "sm_100 ptx"]);
    }
}
