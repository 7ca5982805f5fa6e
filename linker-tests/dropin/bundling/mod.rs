//! `clang-offload-bundler`: files of every type bundled for every set of targets, listed and unbundled.
//!
//! Both programs make each bundle of a grid, and both read the bundles of either. The only permitted differences:
//!
//! - Compressed bundles are compared by headers and decompressed contents, because each program has its own
//!   release of zstd.
//! - Objects are compared section by section, because llvm-objcopy changes their layout. fatbin recovers the host's object
//!   to the byte.
//! - Failed calls of fatbin leave no files.
//! - The tool lists binary bundles in the order of a hash map.
//!
//! [`divergences`] lists the results of both programs where the tool crashes, loses data or is silent.

mod archives;
mod clients;
mod divergences;
mod dumps;
mod grid;
mod outputs;
mod releases;
mod same;
mod short_ids;

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{Call, DirectoryEntry, Pair, Side};
use crate::harness::step::Step;
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    let mut trials =
        vec![trial("mistakes", reports_errors_like_the_tool), trial("divergences", divergences::are_these)];
    trials.push(trial("compatibility", matches_targets_like_the_tool));
    trials.push(trial("archives", archives::are_unbundled_like_the_tool));
    trials.push(trial("dumps", dumps::give_their_first_bundle));
    trials.push(trial("outputs", outputs::keep_their_mode_and_hard_links));
    trials.push(trial("standard-input", reads_standard_input_once));
    trials.push(trial("dropped", finds_dropped_processors_again));
    trials.extend(
        grid::TYPES.iter().map(|kind| trial(kind.name, move |pair| grid::is_bundled_like_the_tool(pair, kind))),
    );
    trials.extend(clients::trials());
    trials.extend(releases::trials());
    trials.push(Trial::ignorable_test("dropin/bundling/short-ids", || {
        let directory = fresh_directory("dropin-bundling", "short-ids");
        completion(directory.and_then(|directory| short_ids::are_refused_by_these_releases(&directory)))
    }));
    trials
}

fn trial(name: &'static str, run: impl FnOnce(&Pair) -> Result<()> + Send + 'static) -> Trial {
    Trial::ignorable_test(format!("dropin/bundling/{name}"), move || {
        completion(fresh_directory("dropin-bundling", name).and_then(|directory| {
            // The tool calls llvm-objcopy.
            Tool::Objcopy.path()?;
            let pair = Pair::new(&directory, "clang-offload-bundler", &Tool::OffloadBundler.path()?)?;
            make_files(&directory)?;
            run(&pair)
        }))
    })
}

/// Files to bundle, in the parent directory of each call.
pub const FILES: [&str; 5] = ["text", "empty", "large", "binary", "bytes"];

fn make_files(directory: &Path) -> Result<()> {
    let mut state = 1_u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let large: Vec<u8> = (0..300_000).map(|at| if at % 7 < 5 { b'a' + byte() % 4 } else { byte() }).collect();
    let contents: [&[u8]; 5] =
        [b"int answer = 42;\n// no newline at the end", b"", &large, b"\0\xff\r\n\n\x1a\0", &[7; 4097]];
    for (name, bytes) in FILES.into_iter().zip(contents) {
        std::fs::write(directory.join(name), bytes)?;
    }
    std::fs::write(directory.join("host.c"), "extern int other; int answer(void) { return other + 42; }")?;
    let compile = |target: &str, object: &str| {
        let clang = Step::new(directory, Tool::Clang.path()?).args(["-O1", "-g", "-c", "host.c", "-o", object]);
        clang.arg(format!("--target={target}")).run().map(drop)
    };
    compile("x86_64-linux-gnu", "host.o")?;
    compile("x86_64-pc-windows-msvc", "host.obj")
}

/// Calls that fail, most of them by an error, and a few unusual ones.
const LINES: [&str; 66] = [
    "-type=bc",
    "-type=bc -output=x",
    "-type=bc -targets=HOST -output=x",
    "-type=bc -targets=HOST -input=../text",
    "-type=bc -targets=HOST -input=../text -input=../empty -output=x",
    "-type=bc -targets=HOST -input=../text -output=x -output=y",
    "-type=bc -targets= -input=../text -output=x",
    "-type=bc -targets=, -input=../text -output=x",
    "-type=bc -targets=foo,foo -input=../text -input=../text -output=x",
    "-type=bc -targets=host -input=../text -output=x",
    "-type=bc -targets=host-x86_64-unknown-linux -input=../text -output=x",
    "-type=bc -targets=foo-x86_64-unknown-linux-gnu -input=../text -output=x",
    "-type=bc -targets=cuda-nvptx64-nvidia-cuda- -input=../text -output=x",
    "-type=bc -targets=sycl-spir64-unknown-unknown- -input=../text -output=x",
    "-type=bc -targets=host-foo-unknown-linux-gnu -input=../text -output=x",
    "-type=bc -targets=foo-bar-a-b-c-d-e -input=../text -output=x",
    "-type=bc -targets=hip--amdgcn-amd-amdhsa--gfx906 -input=../text -output=x",
    "-type=bc -targets=HIP-amdgcn-amd-amdhsa--gfx906 -input=../text -output=x",
    "-type=bc -targets=HOST,HOST -input=../text -input=../text -output=x",
    "-type=bc -targets=HOST,HOST,foo -input=../text -input=../text -input=../text -output=x",
    "-type=bc -targets=HOST,foo,HOST -input=../text -input=../text -input=../text -output=x",
    "-type=bc -targets=HOST,host-aarch64-unknown-linux-gnu- -input=../text -input=../text -output=x",
    "-type=bc -targets=openmp-x86_64-unknown-linux-gnu- -input=../text -output=x",
    "-type=bc -targets=DEVICE,openmp-x86_64-unknown-linux-gnu- -input=../text -input=../text -output=x",
    "-type=bc -targets=DEVICE,DEVICE:xnack+ -input=../text -input=../text -output=x",
    "-type=bc -targets=DEVICE:xnack+:sramecc+,DEVICE:sramecc- -input=../text -input=../text -output=x",
    "-type=bc -unbundle -targets=DEVICE,DEVICE:xnack+ -input=../text -output=x -output=y",
    "-type=bc -targets=HOST -input=nothing -output=x",
    "-type=zz -targets=HOST -input=nothing -output=x",
    "-type=zz -targets=HOST -input=../text -output=x",
    "-type= -targets=HOST -input=../text -output=x",
    "-type=O -targets=HOST -input=../text -output=x",
    "-type=a -targets=HOST -input=../text -output=x",
    "-type=bc -targets=HOST -input=. -output=x",
    "-type=bc -targets=HOST -input= -output=x",
    "-type=bc -targets=HOST -input=../text -output=no/x",
    "-type=bc -targets=HOST -input=../text -output=.",
    "-type=bc -targets=HOST -input=../text -output=",
    "-type=bc -targets=HOST -inputs=../text -outputs=x",
    "-type=bc -targets=HOST,DEVICE -inputs=../text,../empty -output=x",
    "-type=bc -targets=HOST,DEVICE -inputs=../text -inputs=../empty -output=x",
    "-type=bc -inputs=a -input=b",
    "-type=bc -inputs=a -outputs=b -output=c",
    "-type=bc -inputs= -outputs= -targets=HOST",
    "-type=bc -unbundle -inputs=nothing -outputs=x -targets=HOST",
    "-type=bc -unbundle",
    "-type=bc -unbundle -targets=HOST -output=x",
    "-type=bc -unbundle -targets=HOST -output=x -output=y -input=../text",
    "-type=bc -unbundle -targets=HOST,host-aarch64-unknown-linux-gnu- -output=x -output=y -input=../text",
    "-type=bc -unbundle -targets=DEVICE,DEVICE -output=x -output=y -input=../text",
    "-type=zz -unbundle -targets=HOST -output=x -input=../text",
    "-type=zz -unbundle -targets=HOST -output=x -input=nothing",
    "-type=bc -list",
    "-type=bc -list -unbundle",
    "-type=bc -list -input=../text -input=../text",
    "-type=bc -list -input=../text -output=x",
    "-type=bc -list -input=../text -targets=HOST",
    "-type=bc -list -input=nothing",
    "-type=bc -list -input=.",
    "-type=zz -list -inputs=../text",
    "-type=bc -list -inputs=../text -verbose",
    "-type=bc -check-input-archive",
    "-type=bc -check-input-archive -unbundle",
    "-type=bc -targets=HOST -input=../text -output=- -verbose",
    "-type=bc -targets=HOST,DEVICE -input=/dev/null -input=../text -output=/dev/null",
    "-type=bc -list=0 -unbundle=false -targets HOST --input ../text -output x -input=../text",
];

/// Environment variables with invalid numbers and unknown values.
const VARIABLES: [(&str, &str); 9] = [
    ("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", "x"),
    ("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", ""),
    ("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", "99999999999"),
    ("COMPRESSED_BUNDLE_FORMAT_VERSION", "1"),
    ("COMPRESSED_BUNDLE_FORMAT_VERSION", "4"),
    ("COMPRESSED_BUNDLE_FORMAT_VERSION", "three"),
    ("COMPRESSED_BUNDLE_FORMAT_VERSION", "-1"),
    ("OFFLOAD_BUNDLER_COMPRESS", "yes"),
    ("OFFLOAD_BUNDLER_VERBOSE", "true"),
];

/// Replaces the short names in the lines.
pub fn spelled(line: &str) -> String {
    let host = "host-x86_64-unknown-linux-gnu-";
    line.replace("HOST", host).replace("DEVICE", "hip-amdgcn-amd-amdhsa--gfx906")
}

fn reports_errors_like_the_tool(pair: &Pair) -> Result<()> {
    for line in LINES {
        same::calls(pair, &Call::line(&spelled(line)))?;
    }
    let good = spelled("-type=bc -targets=HOST -input=../text -output=x");
    for variable in VARIABLES {
        for line in [good.as_str(), "-type=bc", "-type=bc -help", "-type=bc -h"] {
            same::calls(pair, &Call { variables: vec![variable], ..Call::line(line) })?;
            let ignored = vec![variable, ("OFFLOAD_BUNDLER_IGNORE_ENV_VAR", "1")];
            same::calls(pair, &Call { variables: ignored, ..Call::line(line) })?;
        }
    }
    for kind in &grid::TYPES {
        // What is no bundle has nothing for anyone, or is the host's if that will do.
        for input in FILES.iter().chain(&["host.o"]) {
            for rest in ["", " -allow-missing-bundles"] {
                let file_type = kind.file_type;
                let line = format!(
                    "-type={file_type} -unbundle -input=../{input} -targets=HOST,DEVICE -output=x -output=y{rest}"
                );
                same::calls(pair, &Call::line(&spelled(&line)))?;
            }
        }
    }
    Ok(())
}

fn reads_standard_input_once(pair: &Pair) -> Result<()> {
    let stdin = pair.directory.join("text");
    for inputs in ["-input=- -input=../bytes", "-input=../bytes -input=-", "-input=- -input=-"] {
        let line = spelled(&format!("-type=bc -targets=HOST,DEVICE {inputs} -output=x"));
        let (theirs, _) = same::calls(pair, &Call { stdin: Some(&stdin), ..Call::line(&line) })?;
        ensure!(theirs.status == 0, "{line}: {}", theirs.err);
    }
    Ok(())
}

/// Names that the tool shortens to the triple.
const DROPPED: [&str; 6] = [
    "hip-amdgcn-amd-amdhsa--gfx940",
    "hip-amdgcn-amd-amdhsa--fiji",
    "hip-amdgcn-amd-amdhsa-gfx906",
    "hip-amdgcn-amd-amdhsa--",
    "hip-nvptx64-nvidia-cuda--sm_100f",
    "hip-amdgcn-amd-amdhsa--gfx9999:xnack+",
];

/// Names that the tool stores completely, which must not find the others.
const KEPT: [&str; 2] = ["hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx803"];

fn finds_dropped_processors_again(pair: &Pair) -> Result<()> {
    let mut found = 0;
    for stored in DROPPED {
        let line = format!("-type=bc -targets={stored} -input=../text -output=x");
        let theirs = pair.call(Side::Theirs, &Call::line(&line))?;
        let Some(DirectoryEntry::File { bytes, .. }) = theirs.left.get("x") else { anyhow::bail!("{line}") };
        std::fs::write(pair.directory.join("bundle"), bytes)?;
        for requested in DROPPED.iter().chain(&KEPT) {
            let line = format!("-type=bc -unbundle -targets={requested} -input=../bundle -output=x");
            let (theirs, ours) = pair.both(&Call::line(&line))?;
            let is_same = (theirs.status, &theirs.left) == (ours.status, &ours.left);
            ensure!(is_same, "{stored}: {}", pair.difference(&Call::line(&line), &theirs, &ours));
            found += u32::from(ours.status == 0);
        }
    }
    ensure!(found > 2 * DROPPED.len() as u32, "only {found} of the targets were found");
    Ok(())
}

/// Each of them is put into a bundle and asked for out of all of those.
const IDS: [&str; 10] = [
    "hip-amdgcn-amd-amdhsa--gfx906",
    "hipv4-amdgcn-amd-amdhsa--gfx906:xnack+",
    "hip-amdgcn-amd-amdhsa--gfx906:sramecc-:xnack+",
    "hip-amdgcn-amd-amdhsa--gfx906:xnack-",
    "hip-amdgcn-amd-amdhsa--gfx9-generic",
    "hip-amdgcn-amd-amdhsa--",
    "openmp-amdgcn-amd-amdhsa--gfx906",
    "openmp-amdgcn-amd-amdpal--gfx906",
    "openmp-nvptx64-nvidia-cuda--sm_70",
    "openmp-x86_64-unknown-linux-gnu",
];

fn matches_targets_like_the_tool(pair: &Pair) -> Result<()> {
    let mut served = 0;
    for id in IDS {
        let line = spelled(&format!("-type=bc -targets=HOST,{id} -input=../empty -input=../text -output=bundle"));
        let (theirs, _) = same::calls(pair, &Call::line(&line))?;
        if let Some(DirectoryEntry::File { bytes, .. }) = theirs.left.get("bundle") {
            std::fs::write(pair.directory.join("bundle"), bytes)?;
        }
        for wanted in IDS {
            for rest in ["", " -hip-openmp-compatible"] {
                let line = format!("-type=bc -unbundle -input=../bundle -targets={wanted} -output=x{rest}");
                served += u32::from(same::calls(pair, &Call::line(&line))?.0.status == 0);
            }
        }
    }
    // Each target is compatible with itself, and a few with another.
    ensure!(served > 2 * IDS.len() as u32, "{served} of the targets were served");
    Ok(())
}
