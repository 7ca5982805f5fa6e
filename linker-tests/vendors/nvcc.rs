//! Outputs of nvcc for the command lines of a table.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{equal, extracted, fresh_output};
use crate::dropin::{Call, Pair};
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, not_fetched};

/// Releases that are complete on PyPI.
pub const RELEASES: [&str; 2] = ["13.0", "13.5"];

const TABLE: &str = include_str!("nvcc.txt");
const SOURCE: &str = include_str!("kernels.cu");

/// Minimum number of rows.
const FEWEST_ROWS: usize = 25;

/// A command line, and what its output holds.
struct Row {
    cubins: usize,
    texts: usize,
    lto_ir: usize,
    output: &'static str,
    options: Vec<&'static str>,
}

impl Row {
    /// Returns whether the output depends on the defaults of compression, which differ between releases.
    fn is_about_compression(&self) -> bool {
        self.options.contains(&"-arch=all-major") || self.options.iter().any(|option| option.contains("compress"))
    }
}

fn rows() -> Result<Vec<Row>> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let mut words = line.split_whitespace();
        let [cubins, texts, lto_ir] = [words.next()?, words.next()?, words.next()?].map(|word| word.parse().ok());
        Some(Row { cubins: cubins?, texts: texts?, lto_ir: lto_ir?, output: words.next()?, options: words.collect() })
    };
    lines.map(|line| row(line).with_context(|| format!("invalid row: {line}"))).collect()
}

/// Returns the path of a release of nvcc.
pub fn nvcc(release: &str) -> Result<PathBuf> {
    let directory = if release == "13.5" { "cuda-nvcc".to_owned() } else { format!("cuda-nvcc-{release}") };
    let path = fetched(&directory).join("nvidia/cu13/bin/nvcc");
    Ok(Some(path).filter(|path| path.is_file()).ok_or_else(|| not_fetched("nvcc"))?)
}

/// fatbin, cuobjdump and its drop-in agree on each output.
pub fn outputs(directory: &Path, release: &str) -> Result<()> {
    let (nvcc, cuobjdump) = (nvcc(release)?, Tool::Cuobjdump.path()?);
    let pair = Pair::new(directory, "cuobjdump", &cuobjdump)?;
    std::fs::write(directory.join("k.cu"), SOURCE)?;
    let rows = rows()?;
    ensure!(rows.len() >= FEWEST_ROWS, "{} rows", rows.len());
    for row in rows.iter().filter(|row| release == RELEASES[1] || row.is_about_compression()) {
        let what = format!("nvcc {release} {}", row.options.join(" "));
        Step::new(directory, &nvcc).args(&row.options).args(["k.cu", "-o", row.output]).run()?;
        let theirs = fresh_output(directory)?;
        let path = format!("../{}", row.output);
        for option in ["-xelf", "-xptx"] {
            Step::new(&theirs, &cuobjdump).args(["-all", option, "all", &path]).run()?;
        }
        let theirs = super::contents(&theirs, |_| true)?;
        let ours = extracted(directory, row.output, &[".cubin", ".ptx"])?;
        equal(&what, &ours, &theirs, row.cubins + row.texts)?;
        has_lto_ir(directory, row).with_context(|| what.clone())?;
        for options in [&["-all"][..], &["-all", "-lelf", "-lptx"], &["-all", "-res-usage", "-symbols"], &["-ltext"]] {
            let line: Vec<&str> = options.iter().copied().chain([path.as_str()]).collect();
            pair.same(&Call::new(&line)).with_context(|| what.clone())?;
        }
        std::fs::remove_file(directory.join(row.output))?;
    }
    Ok(())
}

/// Kernels of both kinds in Tile C++.
const TILE_SOURCE: &str =
    "#include <cuda_tile.h>\n__tile_global__ void t(int *p) { *p = 1; }\n__global__ void k(int *p) { *p = 3; }\n";

/// cuobjdump names Tile IR, but does not list it. The trials `fatbinary/tile-ir` compare its bytes.
pub fn tile_ir(directory: &Path) -> Result<()> {
    let pair = Pair::new(directory, "cuobjdump", &Tool::Cuobjdump.path()?)?;
    std::fs::write(directory.join("tile.cu"), TILE_SOURCE)?;
    let options = ["-c", "-arch=sm_100", "--enable-tile", "-std=c++20", "tile.cu", "-o", "tile.o"];
    Step::new(directory, nvcc("13.5")?).args(options).run()?;
    let blocks = pair.same(&Call::new(&["../tile.o"]))?;
    ensure!(blocks.out.contains("\nFatbin tile ir code:\n"), "{}", blocks.out);
    for options in ["-lelf", "-lptx", "-res-usage", "-symbols", "-ptx"] {
        pair.same(&Call::new(&[options, "../tile.o"]))?;
    }
    Ok(())
}

/// LTO-IR, which cuobjdump does not extract, is at least counted.
fn has_lto_ir(directory: &Path, row: &Row) -> Result<()> {
    let done = Step::new(directory, fatbin_program()).args(["scan", "--json", row.output]).run()?;
    let count = done.stdout.matches("\"image\": \"nvvm\"").count();
    ensure!(count == row.lto_ir, "{}", done.error(format!("{count} modules of LTO-IR")));
    Ok(())
}
