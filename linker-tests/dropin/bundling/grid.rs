//! The grid: every file type with every set of targets, with varying options and files.

use anyhow::{Context, Result, ensure};

use super::{FILES, same, spelled};
use crate::dropin::{Call, DirectoryEntry, Pair, Side};

/// A file type, and the host's file.
pub struct Type {
    pub name: &'static str,
    pub file_type: &'static str,
    /// Required file, if not any file is valid.
    host: Option<&'static str>,
    /// One of this many combinations is tried: all of them would repeat the same code.
    every: usize,
}

const fn other(name: &'static str) -> Type {
    Type { name, file_type: name, host: None, every: 11 }
}

pub static TYPES: [Type; 13] = [
    Type { name: "o-elf", file_type: "o", host: Some("host.o"), every: 3 },
    Type { name: "o-coff", file_type: "o", host: Some("host.obj"), every: 5 },
    Type { name: "o-other", file_type: "o", host: None, every: 11 },
    Type { every: 3, ..other("bc") },
    Type { every: 3, ..other("ii") },
    other("i"),
    other("cui"),
    other("hipi"),
    other("d"),
    other("ll"),
    other("s"),
    other("gch"),
    other("ast"),
];

const TARGETS: [&str; 18] = [
    "HOST",
    "HOST,DEVICE",
    "DEVICE,HOST",
    "host-x86_64-unknown-linux-gnu,hip-amdgcn-amd-amdhsa-unknown-gfx906,hip-amdgcn-amd-amdhsa-unknown-gfx90a",
    "DEVICE,hip-amdgcn-amd-amdhsa--gfx90a,HOST",
    "DEVICE",
    "hipv4-amdgcn-amd-amdhsa--gfx906,hipv4-amdgcn-amd-amdhsa--gfx90a",
    "HOST,hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+,hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-,DEVICE",
    "HOST,DEVICE:xnack+:sramecc-,DEVICE:sramecc+:xnack-",
    "HOST,openmp-amdgcn-amd-amdhsa--gfx906",
    "openmp-amdgcn-amd-amdhsa--gfx906,HOST,openmp-nvptx64-nvidia-cuda--sm_70,openmp-x86_64-pc-linux-gnu",
    "HOST,openmp-nvptx64-nvidia-cuda-unknown-sm_90a,hip-spirv64-amd-amdhsa--amdgcnspirv",
    "HOST,DEVICE,openmp-amdgcn-amd-amdhsa--gfx906",
    "host-x86_64-linux-gnu-,hip-amdgcn-amd-amdhsa-",
    "host-powerpc64le-ibm-linux-gnu,openmp-powerpc64le-ibm-linux-gnu,DEVICE:bogus+",
    "host-x86_64-pc-windows-msvc,hip-amdgcn-amd-amdhsa--gfx9-4-generic,hip-amdgcn-amd-amdpal--gfx1030",
    "openmp-amdgcn-amd-amdhsa--gfx906",
    "HOST,DEVICE,DEVICE:xnack+",
];

/// Options, and the environment variable for the version of compressed bundles.
const OPTIONS: [(&str, Option<&str>); 11] = [
    ("", None),
    ("-bundle-align=4096", None),
    ("-bundle-align=7 --hip-openmp-compatible", None),
    ("-verbose --bundle-align 0x10", None),
    ("-compress", None),
    ("-compress", Some("2")),
    ("-compress -compression-level=1 -verbose", Some("3")),
    ("-compress -compression-level=-3 -bundle-align=512", None),
    ("-compress -compression-level=19 -verbose", Some("2")),
    ("-compress=0 -compression-level=9", None),
    ("-allow-missing-bundles -verbose=0 -compress=true -compress=false", None),
];

/// Targets that are in none of the bundles.
const ABSENT: &str = "hip-amdgcn-amd-amdhsa--gfx1201";

pub fn is_bundled_like_the_tool(pair: &Pair, kind: &Type) -> Result<()> {
    let mut bundles = 0;
    for (row, targets) in TARGETS.iter().enumerate() {
        for (column, options) in OPTIONS.iter().enumerate() {
            // For a bundle of objects, the tool also prints figures; they describe an empty file.
            let has_figures = options.0.contains("-compression-level") && options.0.ends_with("-verbose");
            let is_object = kind.host.is_some() && spelled(targets).contains("host");
            let is_asked = (row + column + kind.name.len()).is_multiple_of(kind.every);
            if is_asked && !(is_object && has_figures) {
                bundles +=
                    u32::from(Cell { kind, targets: &spelled(targets), options, seed: row * 3 + column }.check(pair)?);
            }
        }
    }
    ensure!(bundles > 9, "only {bundles} bundles were made");
    Ok(())
}

struct Cell<'a> {
    kind: &'a Type,
    targets: &'a str,
    options: &'a (&'a str, Option<&'a str>),
    seed: usize,
}

impl Cell<'_> {
    /// Whether bundling succeeded.
    fn check(&self, pair: &Pair) -> Result<bool> {
        let targets: Vec<&str> = self.targets.split(',').collect();
        let inputs: Vec<&str> = targets.iter().enumerate().map(|(index, target)| self.input(index, target)).collect();
        let given: Vec<String> = inputs.iter().map(|input| format!("-input=../{input}")).collect();
        let Type { file_type, .. } = self.kind;
        let line = format!(
            "-type={file_type} -targets={} {} -output=bundle {}",
            self.targets,
            given.join(" "),
            self.options.0
        );
        let variables: Vec<_> =
            self.options.1.map(|version| ("COMPRESSED_BUNDLE_FORMAT_VERSION", version)).into_iter().collect();
        let (theirs, ours) = same::calls(pair, &Call { variables, ..Call::line(&line) })?;
        if theirs.status != 0 {
            return Ok(false);
        }
        // Equal bundles are unbundled once.
        let sides = [(Side::Theirs, &theirs), (Side::Ours, &ours)];
        let different = if theirs.left == ours.left { &sides[1..] } else { &sides[..] };
        for (side, result) in different {
            let Some(DirectoryEntry::File { bytes, .. }) = result.left.get("bundle") else {
                anyhow::bail!("{line}: no bundle")
            };
            let bundle = &format!("{side:?}.bundle");
            std::fs::write(pair.directory.join(bundle), bytes)?;
            let verbose = if line.contains("-verbose") { " -verbose" } else { "" };
            let list = format!("-type={file_type} -list -input=../{bundle}{verbose}");
            let (listed, _) = same::calls(pair, &Call::line(&list))?;
            ensure!(listed.out.lines().count() == targets.len(), "{line}\n{list}:\n{}", listed.out);
            self.all_come_out(pair, &format!("{bundle}{verbose}"), &targets, &inputs).with_context(|| line.clone())?;
            self.some_are_missing(pair, &format!("{bundle}{verbose}"), &targets).with_context(|| line.clone())?;
        }
        Ok(true)
    }

    fn input(&self, index: usize, target: &str) -> &'static str {
        match self.kind.host {
            Some(host) if target.starts_with("host") => host,
            host => match FILES[(self.seed + index) % FILES.len()] {
                // A divergence: the tool cannot read COFF objects if it has added nothing to them.
                "empty" if host == Some("host.obj") => "text",
                file => file,
            },
        }
    }

    /// Checks that both programs unbundle the original files from either bundle.
    fn all_come_out(&self, pair: &Pair, bundle: &str, targets: &[&str], inputs: &[&str]) -> Result<()> {
        let reversed: Vec<&str> = targets.iter().rev().copied().collect();
        let outputs: Vec<String> = (0..targets.len()).rev().map(|index| format!("-output={index}")).collect();
        let line = format!(
            "-type={} -unbundle -input=../{bundle} -targets={} {}",
            self.kind.file_type,
            reversed.join(","),
            outputs.join(" ")
        );
        let (_, ours) = same::calls(pair, &Call::line(&line))?;
        for (index, input) in inputs.iter().enumerate() {
            let Some(DirectoryEntry::File { bytes, .. }) = ours.left.get(&index.to_string()) else {
                anyhow::bail!("{line}: no {index}")
            };
            let expected = std::fs::read(pair.directory.join(input))?;
            // An object whose layout the tool has changed cannot be recovered.
            let is_same = *bytes == expected
                || bundle.starts_with("Theirs") && same::What::of(bytes)? == same::What::of(&expected)?;
            ensure!(is_same, "{line}: {input} is not what comes out for {}", targets[index]);
        }
        Ok(())
    }

    fn some_are_missing(&self, pair: &Pair, bundle: &str, targets: &[&str]) -> Result<()> {
        if !self.seed.is_multiple_of(3) {
            return Ok(());
        }
        let first = targets[self.seed % targets.len()];
        for asked in [format!("{ABSENT},{first} -output=x -output=y"), format!("{ABSENT} -output=x")] {
            for rest in ["", " -allow-missing-bundles"] {
                let Type { file_type, .. } = self.kind;
                let line = format!("-type={file_type} -unbundle -input=../{bundle} -targets={asked}{rest}");
                same::calls(pair, &Call::line(&line))?;
            }
        }
        Ok(())
    }
}
